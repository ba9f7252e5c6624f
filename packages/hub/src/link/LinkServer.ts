/**
 * Server of the links of Edges. A defect or a hostile peer ends only its own connection.
 *
 * Owns the sockets, and passes notices of other Hubs on to the connections. `LinkRegistry` knows which links are open, `LinkConnection`
 * implements the calls.
 */
import { linkCloseCodes, MAX_FRAME_BYTES } from "@corral/domain/link/EdgeLink"
import type { DeviceId, RequestId } from "@corral/domain/identity/Ids"
import { standardHeaders } from "@corral/service/http/Refusal"
import { CurrentMetrics } from "@corral/service/telemetry/Metrics"
import { Clock, Context, Effect, Fiber, Layer, Schedule } from "effect"
import type { IncomingMessage } from "node:http"
import type { Duplex } from "node:stream"
import { type WebSocket, WebSocketServer } from "ws"
import { HubConfig } from "../config/HubConfig.ts"
import type { LinkOptions } from "../config/LinkOptions.ts"
import { AttachmentReads } from "../attachment/AttachmentReads.ts"
import { Commands } from "../edges/Commands.ts"
import { hubMetrics } from "../HubMetrics.ts"
import { RunLog } from "../run/RunLog.ts"
import { Notices } from "../store/Notices.ts"
import { startedRunOf } from "../edges/CommandRequest.ts"
import { Dispatcher } from "../task/Dispatcher.ts"
import { ForeignPushes } from "./ForeignPushes.ts"
import { KeyRotation } from "./KeyRotation.ts"
import { Leases } from "./Leases.ts"
import { LinkConnection, linkDefaults, type LinkServices } from "./LinkConnection.ts"
import { LinkRegistry, TAKEN_OVER_REASON } from "./LinkRegistry.ts"
import { type LinkRpc, makeLinkRpc } from "./LinkRpc.ts"
import { LinkSocket } from "./LinkSocket.ts"
import { Proofs } from "./Proofs.ts"
import { PushQueue } from "./PushQueue.ts"

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
