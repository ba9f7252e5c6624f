/**
 * Server of the links of Edges. A defect or a hostile peer ends only its own connection.
 *
 * Owns the sockets, and passes notices of other Hubs on to the connections. `LinkConnection` implements the calls.
 *
 * Guarantees: one connection per device. A connection that takes over a device ends the earlier one, and a socket that does not prove a device in time is
 * ended. Pushes of events of another device's runs are audited: one record per device and minute, in the project of such a run.
 */
import type { DeviceId, RequestId, RunId } from "@corral/domain/identity/Ids"
import { mint } from "@corral/service/Identifiers"
import { Clock, Context, Effect, Layer, Fiber, Schedule } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { RequestRateLimit } from "@corral/service/http/RequestRateLimit"
import {
  type LinkCloseCode,
  MAX_FRAME_BYTES,
  PROVE_WITHIN_SECONDS,
  linkCloseCodes
} from "@corral/domain/link/EdgeLink"
import { standardHeaders } from "@corral/service/http/Refusal"
import { CurrentMetrics } from "@corral/service/telemetry/Metrics"
import { type WebSocket, WebSocketServer } from "ws"
import type { IncomingMessage } from "node:http"
import type { Duplex } from "node:stream"
import { Audit } from "../audit/Audit.ts"
import { runProjectRows } from "../run/Runs.ts"
import { hubMetrics } from "../HubMetrics.ts"
import { AttachmentReads } from "../attachment/MessageAttachments.ts"
import { HubConfig, type LinkOptions } from "../config/HubConfig.ts"
import { startedRunOf } from "../edges/CommandRequest.ts"
import { ChangeSets } from "../change/ChangeSets.ts"
import { Commands } from "../edges/Commands.ts"
import { RunLog } from "../run/RunLog.ts"
import { Notices } from "../store/Notices.ts"
import { Dispatcher } from "../task/Dispatcher.ts"
import { KeyRotation, Leases } from "./Leases.ts"
import { LinkConnection, type LinkServices, linkDefaults } from "./LinkConnection.ts"
import { type LinkRpc, LinkSocket, makeLinkRpc } from "./LinkSocket.ts"
import { Proofs } from "./Proofs.ts"
import { PushQueue } from "./PushQueue.ts"

export class ForeignPushes extends Context.Service<
  ForeignPushes,
  {
    /** Writes no record about runs that do not exist. */
    readonly record: (
      deviceId: DeviceId,
      runIds: ReadonlyArray<RunId>
    ) => Effect.Effect<void, SqlError.SqlError>
  }
>()("corral/hub/ForeignPushes") {
  static readonly layer = Layer.effect(
    ForeignPushes,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const audit = yield* Audit
      const clock = yield* Clock.Clock
      const now = () => clock.currentTimeMillisUnsafe()
      const audited = new RequestRateLimit(1, now, 60_000)
      return ForeignPushes.of({
        record: Effect.fn("LinkServer.recordForeignPushes")(function* (deviceId, runIds) {
          if (!audited.has(deviceId)) return
          const run = yield* runProjectRows.first(sql`
            SELECT id, project_id FROM runs WHERE id = ANY(${runIds}::text[]) AND target_id <> ${deviceId} LIMIT 1`)
          if (run === undefined || !audited.take(deviceId)) return
          yield* audit.record({
            action: "run.push",
            resource: run.id,
            projectId: run.project_id,
            actor: deviceId,
            outcome: "denied",
            code: "permission_denied",
            requestId: mint<RequestId>("req", now())
          })
        })
      })
    })
  )
}

export class LinkServer extends Context.Service<
  LinkServer,
  {
    /** Completes the handshake and serves the link until either side ends it. `hub` is this Hub's public URL. */
    readonly accept: (request: IncomingMessage, socket: Duplex, head: Buffer, hub: string) => void
    /** Ends every link with 1012. Succeeds when all sockets are closed; after a second they are terminated. */
    readonly closeAll: Effect.Effect<void>
  }
>()("corral/hub/LinkServer") {
  static readonly layer = Layer.effect(
    LinkServer,
    Effect.gen(function* () {
      const { link: options = {} } = yield* HubConfig
      const clock = yield* Clock.Clock
      const now = () => clock.currentTimeMillisUnsafe()
      const scope = yield* Effect.scope
      const runFork = Effect.runForkWith(yield* Effect.context<never>())
      const registry = new LinkRegistry(options)
      const fork = (effect: Effect.Effect<void>) => Fiber.runIn(runFork(effect), scope)
      const server: ServerState = {
        registry,
        rpc: yield* makeLinkRpc,
        services: yield* linkServices(options, registry, now, fork),
        fork
      }
      const metrics = yield* CurrentMetrics
      metrics.sample(Effect.sync(() => [[hubMetrics.links, registry.deviceCount]]))
      yield* followNotices(server)
      yield* Effect.forkScoped(
        Effect.repeat(
          Effect.sync(() => registry.tick(now())),
          Schedule.spaced("1 second")
        )
      )
      const handshakes = makeHandshakes()
      return LinkServer.of({
        accept: (request, stream, head, hub) =>
          handshakes.handleUpgrade(request, stream, head, (webSocket) =>
            serve(server, webSocket, stream, String(request.headers["x-request-id"]), hub)
          ),
        closeAll: registry.closeAll
      })
    })
  )
}

interface ServerState {
  readonly registry: LinkRegistry
  readonly rpc: LinkRpc
  readonly services: LinkServices
  /** Starts an effect that ends with the server. */
  readonly fork: (effect: Effect.Effect<void>) => Fiber.Fiber<void>
}

const linkServices = Effect.fnUntraced(function* (
  options: LinkOptions,
  registry: LinkRegistry,
  now: () => number,
  fork: ServerState["fork"]
) {
  const dispatcher = yield* Dispatcher
  const foreign = yield* ForeignPushes
  const leases = yield* Leases
  const log = yield* RunLog
  const pushes = new PushQueue((batch) => log.appendAll(batch, leases.holdNewest), fork)
  const services: LinkServices = {
    accessSeconds: options.accessSeconds ?? linkDefaults.accessSeconds,
    attachments: yield* AttachmentReads,
    changes: yield* ChangeSets,
    commands: yield* Commands,
    leases,
    log,
    pushes,
    now,
    proofs: yield* Proofs,
    rotation: yield* KeyRotation,
    onProved: (connection, { deviceId, hasWaitingTasks }) =>
      Effect.suspend(() =>
        registry.markProved(connection, deviceId) && hasWaitingTasks ? dispatcher.wake(deviceId) : Effect.void
      ),
    onAnswered: (deviceId, id) => {
      const runId = startedRunOf(id)
      return runId === undefined ? Effect.void : dispatcher.wakeAnswered(deviceId, runId)
    },
    onForeign: foreign.record
  }
  return services
})

/** Acts on notices of every Hub: commands wake their link; revoked devices and fenced links are ended. */
const followNotices = Effect.fnUntraced(function* (server: ServerState) {
  const { fork, registry, services } = server
  const notices = yield* Notices
  notices.follow({
    onNotice: (kind, payload, isOwn) => {
      // The registry has ended the links of this Hub that a newer one of this Hub has fenced.
      if (kind === "presence" && isOwn) return
      if (kind !== "command" && kind !== "presence" && kind !== "deviceEnded") return
      // The payload of these channels is a device id.
      const deviceId = payload as DeviceId
      const connection = registry.find(deviceId)
      if (kind === "command") connection?.wake()
      else if (connection !== undefined) fork(logFailure(verify(server, [connection])))
      if (kind === "deviceEnded") fork(logFailure(services.commands.refuseAll(deviceId)))
    },
    onMissed: () => {
      const connections = registry.list()
      for (const connection of connections) connection.wake()
      fork(logFailure(verify(server, connections)))
    }
  })
})

/** Ends the connections that are no longer the newest link of their device. */
const verify = Effect.fnUntraced(function* (
  { registry, services }: ServerState,
  connections: ReadonlyArray<LinkConnection>
) {
  const links = connections.flatMap(({ link }) => (link === undefined ? [] : [link]))
  if (links.length === 0) return
  const lost = yield* services.leases.findLost(links)
  // By connection: the device may have a newer one by now.
  for (const connection of connections) {
    const reason = connection.link === undefined ? undefined : lost.get(connection.link.deviceId)
    if (reason === "fenced") registry.end(connection, linkCloseCodes.fenced, TAKEN_OVER_REASON)
    if (reason === "ended") registry.end(connection, linkCloseCodes.unproved, "the device was revoked")
  }
})

const logFailure = <E>(effect: Effect.Effect<void, E>) =>
  effect.pipe(Effect.catchCause((cause) => Effect.logWarning("failed to verify links", cause)))

const makeHandshakes = (): WebSocketServer => {
  const handshakes = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    maxPayload: MAX_FRAME_BYTES
  })
  handshakes.on("headers", (headers, request) => {
    // The HTTP server has set the request id.
    const id = request.headers["x-request-id"] as RequestId
    for (const [name, value] of Object.entries(standardHeaders(id))) headers.push(`${name}: ${value}`)
  })
  return handshakes
}

const serve = (
  { fork, registry, rpc, services }: ServerState,
  webSocket: WebSocket,
  stream: Duplex,
  id: string,
  hub: string
): void => {
  const socket = new LinkSocket(webSocket, stream, services.now())
  const connection = new LinkConnection(services, {
    hub,
    id,
    end: (code, reason) => socket.end(code, reason),
    run: (effect) => fork(effect)
  })
  registry.add(connection, socket)
  rpc.serve(webSocket, connection)
  webSocket.once("close", (code: number) => {
    // After an unclean end the Edge dials again while its lease is valid.
    if (connection.link !== undefined && CLEAN_CLOSE_CODES.has(code))
      fork(logFailure(services.leases.release(connection.link)))
    registry.remove(connection, socket)
  })
}

/** Close codes that the Edge chose, and the code of an expired proof. */
const CLEAN_CLOSE_CODES: ReadonlySet<number> = new Set([1000, 1001, 1005, linkCloseCodes.unproved])

/** Sockets without a proof, per Hub. */
const MAX_UNPROVED = 256

class LinkRegistry {
  private readonly unprovedMs: number
  /** In the order of their arrival. */
  private readonly open = new Set<LinkSocket>()
  private readonly unproved = new Set<LinkSocket>()
  private readonly sockets = new Map<LinkConnection, LinkSocket>()
  private readonly byDevice = new Map<DeviceId, LinkConnection>()
  private onEmpty: (() => void) | undefined

  constructor({ unprovedMs = PROVE_WITHIN_SECONDS * 1_000 }: LinkOptions) {
    this.unprovedMs = unprovedMs
  }

  /** Devices whose link this Hub has. */
  get deviceCount(): number {
    return this.byDevice.size
  }

  find(deviceId: DeviceId): LinkConnection | undefined {
    return this.byDevice.get(deviceId)
  }

  /** Every connection with a verified device. */
  list(): ReadonlyArray<LinkConnection> {
    return [...this.byDevice.values()]
  }

  add(connection: LinkConnection, socket: LinkSocket): void {
    this.open.add(socket)
    this.unproved.add(socket)
    this.sockets.set(connection, socket)
    // A flood displaces itself: an honest Edge proves its device before its socket is the oldest.
    const [oldest] = this.unproved
    if (this.unproved.size > MAX_UNPROVED && oldest !== undefined) {
      this.unproved.delete(oldest)
      oldest.terminate()
    }
  }

  remove(connection: LinkConnection, socket: LinkSocket): void {
    this.open.delete(socket)
    this.unproved.delete(socket)
    this.sockets.delete(connection)
    const deviceId = connection.link?.deviceId
    if (deviceId !== undefined && this.byDevice.get(deviceId) === connection) this.byDevice.delete(deviceId)
    if (this.open.size === 0) this.onEmpty?.()
  }

  /** Gives the device to the connection. Returns `false` if its socket is closed already. */
  markProved(connection: LinkConnection, deviceId: DeviceId): boolean {
    const socket = this.sockets.get(connection)
    if (socket === undefined) return false
    this.unproved.delete(socket)
    socket.markProved()
    const earlier = this.byDevice.get(deviceId)
    this.byDevice.set(deviceId, connection)
    if (earlier !== undefined) this.end(earlier, linkCloseCodes.fenced, TAKEN_OVER_REASON)
    return true
  }

  end(connection: LinkConnection, code: LinkCloseCode, reason: string): void {
    this.sockets.get(connection)?.end(code, reason)
  }

  /** Once a second: pings, and ends sockets and proofs whose time is over. `now` in Unix milliseconds. */
  tick(now: number): void {
    for (const socket of this.open) socket.tick(now)
    for (const socket of this.unproved) {
      if (now - socket.openedAt < this.unprovedMs) break
      socket.end(linkCloseCodes.unproved, "no proof")
    }
    for (const connection of this.byDevice.values())
      if (connection.provedUntil <= now)
        this.end(connection, linkCloseCodes.unproved, "the proof has expired")
  }

  /** Ends every link. Succeeds when all sockets are closed; after a second they are terminated. */
  readonly closeAll: Effect.Effect<void> = Effect.callback<void>((resume) => {
    if (this.open.size === 0) return resume(Effect.void)
    this.onEmpty = () => resume(Effect.void)
    for (const socket of this.open) socket.end(linkCloseCodes.restart, "the Hub is stopping")
  }).pipe(
    Effect.timeoutOption("1 second"),
    Effect.andThen(Effect.sync(() => this.open.forEach((socket) => socket.terminate())))
  )
}

/** Reason of a close with the code `fenced`. */
const TAKEN_OVER_REASON = "a newer link has taken over"
