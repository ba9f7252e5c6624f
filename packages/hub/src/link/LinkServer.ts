/**
 * All links of Edges: sockets accepted here, each with an RPC server of its own, so that a defect or a hostile peer ends its own connection only.
 *
 * Owns the sockets, their pings and their ends, on one clock for all of them, and passes on what other Hubs tell. What a call means is
 * `LinkConnection`'s.
 */
import type { DeviceLink } from "../edges/DeviceLink.ts"
import type { LinkOptions } from "../config/LinkOptions.ts"
import {
  type LinkCloseCode,
  linkCloseCodes,
  MAX_FRAME_BYTES,
  PROVE_WITHIN_SECONDS
} from "@corral/domain/link/EdgeLink"
import type { DeviceId, RequestId } from "@corral/domain/identity/Ids"
import { standingHeaders } from "@corral/service/http/Refusal"
import { CurrentMetrics } from "@corral/service/telemetry/Metrics"
import { Clock, Context, Effect, Fiber, Layer, Schedule } from "effect"
import type { IncomingMessage } from "node:http"
import type { Duplex } from "node:stream"
import { type WebSocket, WebSocketServer } from "ws"
import { hubMetrics } from "../HubMetrics.ts"
import { Notices } from "../store/Notices.ts"
import { RunLog } from "../run/RunLog.ts"
import { Dispatcher } from "../task/Dispatcher.ts"
import { Commands } from "../edges/Commands.ts"
import { ForeignPushes } from "./ForeignPushes.ts"
import { KeyRotation } from "./KeyRotation.ts"
import { Leases } from "./Leases.ts"
import { LinkConnection, linkDefaults, type LinkServices } from "./LinkConnection.ts"
import { serveLinkRpc } from "./LinkRpc.ts"
import { LinkSocket } from "./LinkSocket.ts"
import { Proofs } from "./Proofs.ts"

export class LinkServer extends Context.Service<
  LinkServer,
  {
    /** Completes the handshake and serves the link until either side ends it. `hub` is this Hub's public URL. */
    readonly accept: (request: IncomingMessage, socket: Duplex, head: Buffer, hub: string) => void
    /** Ends every link with 1012; succeeds when all sockets are closed, by force after a second. */
    readonly closeAll: Effect.Effect<void>
  }
>()("corral/hub/LinkServer") {
  static readonly layer = (options: LinkOptions = {}) =>
    Layer.effect(
      LinkServer,
      Effect.gen(function* () {
        const clock = yield* Clock.Clock
        const commands = yield* Commands
        const dispatcher = yield* Dispatcher
        const foreign = yield* ForeignPushes
        const leases = yield* Leases
        const log = yield* RunLog
        const notices = yield* Notices
        const proofs = yield* Proofs
        const rotation = yield* KeyRotation
        const scope = yield* Effect.scope
        const now = () => clock.currentTimeMillisUnsafe()
        const runFork = Effect.runForkWith(yield* Effect.context<never>())
        const fork = (effect: Effect.Effect<void>) => Fiber.runIn(runFork(effect), scope)

        /** In the order in which they came. */
        const open = new Set<LinkSocket>()
        const unproved = new Set<LinkSocket>()
        const byConnection = new Map<LinkConnection, LinkSocket>()
        const held = new Map<DeviceId, LinkConnection>()
        const metrics = yield* CurrentMetrics
        metrics.sample(Effect.sync(() => [[hubMetrics.links, held.size]]))
        let whenEmpty: (() => void) | undefined

        const end = (connection: LinkConnection | undefined, code: LinkCloseCode, reason: string) => {
          if (connection !== undefined) byConnection.get(connection)?.end(code, reason)
        }

        const services: LinkServices = {
          accessSeconds: options.accessSeconds ?? linkDefaults.accessSeconds,
          commands,
          leases,
          log,
          now,
          proofs,
          rotation,
          onProved: (connection, { deviceId }) =>
            Effect.suspend(() => {
              const socket = byConnection.get(connection)
              if (socket === undefined) return Effect.void
              unproved.delete(socket)
              socket.markProved()
              const before = held.get(deviceId)
              held.set(deviceId, connection)
              end(before, linkCloseCodes.fenced, "a newer link has taken over")
              return dispatcher.wake(deviceId)
            }),
          onAnswered: (deviceId, id) => (id.startsWith("start.") ? dispatcher.wake(deviceId) : Effect.void),
          onForeign: foreign.record
        }

        /** Ends those that are not their devices' links any more. */
        const verify = Effect.fnUntraced(function* (connections: ReadonlyArray<LinkConnection>) {
          const links = connections.flatMap(({ link }): ReadonlyArray<DeviceLink> =>
            link === undefined ? [] : [link]
          )
          if (links.length === 0) return
          const lost = yield* leases.findLost(links)
          // By connection: the device may have another one by now.
          for (const connection of connections) {
            const why = connection.link === undefined ? undefined : lost.get(connection.link.deviceId)
            if (why === "fenced") end(connection, linkCloseCodes.fenced, "a newer link has taken over")
            if (why === "ended") end(connection, linkCloseCodes.unproved, "the device was revoked")
          }
        })
        const logged = <E>(effect: Effect.Effect<void, E>) =>
          effect.pipe(Effect.catch((error) => Effect.logWarning("links are not looked after", error)))

        notices.follow({
          onNotice: (kind, payload) => {
            if (kind !== "command" && kind !== "presence" && kind !== "deviceEnded") return
            // These channels tell ids of devices.
            const deviceId = payload as DeviceId
            const connection = held.get(deviceId)
            if (kind === "command") connection?.wake()
            else if (connection !== undefined) fork(logged(verify([connection])))
            if (kind === "deviceEnded") fork(logged(commands.refuseAll(deviceId)))
          },
          onMissed: () => {
            for (const connection of held.values()) connection.wake()
            fork(logged(verify([...held.values()])))
          }
        })

        const tick = Effect.sync(() => {
          const at = now()
          for (const socket of open) socket.tick(at)
          for (const socket of unproved) {
            if (at - socket.openedAt < (options.unprovedMs ?? PROVE_WITHIN_SECONDS * 1_000)) break
            socket.end(linkCloseCodes.unproved, "no proof")
          }
          for (const connection of held.values())
            if (connection.provedUntil <= at) end(connection, linkCloseCodes.unproved, "the proof is over")
        })
        yield* Effect.forkScoped(Effect.repeat(tick, Schedule.spaced("1 second")))

        const handshakes = new WebSocketServer({
          noServer: true,
          clientTracking: false,
          maxPayload: MAX_FRAME_BYTES
        })
        handshakes.on("headers", (headers, request) => {
          // The server has put the id in its place.
          const id = request.headers["x-request-id"] as RequestId
          for (const [name, value] of Object.entries(standingHeaders(id))) headers.push(`${name}: ${value}`)
        })

        const serve = (webSocket: WebSocket, stream: Duplex, id: string, hub: string) => {
          const socket = new LinkSocket(webSocket, stream, now())
          const connection = new LinkConnection(services, {
            hub,
            id,
            end: (code, reason) => socket.end(code, reason),
            run: (effect) => fork(effect)
          })
          open.add(socket)
          unproved.add(socket)
          byConnection.set(connection, socket)
          // A flood takes the place of itself: who has come honestly proves itself before it is the oldest.
          const [oldest] = unproved
          if (unproved.size > MAX_UNPROVED && oldest !== undefined) {
            unproved.delete(oldest)
            oldest.terminate()
          }
          const fiber = runFork(serveLinkRpc(webSocket, connection))
          Fiber.runIn(fiber, scope)
          webSocket.once("close", (code: number) => {
            fiber.interruptUnsafe()
            open.delete(socket)
            unproved.delete(socket)
            byConnection.delete(connection)
            const { link } = connection
            if (link !== undefined) {
              if (held.get(link.deviceId) === connection) held.delete(link.deviceId)
              // One that was cut dials again while its lease lives.
              if (CLEAN.has(code)) fork(logged(leases.release(link)))
            }
            if (open.size === 0) whenEmpty?.()
          })
        }

        return LinkServer.of({
          accept: (request, stream, head, hub) =>
            handshakes.handleUpgrade(request, stream, head, (webSocket) =>
              serve(webSocket, stream, String(request.headers["x-request-id"]), hub)
            ),
          closeAll: Effect.callback<void>((resume) => {
            if (open.size === 0) return resume(Effect.void)
            whenEmpty = () => resume(Effect.void)
            for (const socket of open) socket.end(linkCloseCodes.restart, "the Hub is stopping")
          }).pipe(
            Effect.timeoutOption("1 second"),
            Effect.andThen(Effect.sync(() => open.forEach((socket) => socket.terminate())))
          )
        })
      })
    )
}

/** Sockets without a proof, of one Hub. */
const MAX_UNPROVED = 256
/** Ends that the Edge meant, and those of a proof that is over. */
const CLEAN: ReadonlySet<number> = new Set([1000, 1001, 1005, linkCloseCodes.unproved])
