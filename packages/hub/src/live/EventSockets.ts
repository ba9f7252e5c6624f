/**
 * All subscribers of `/client/events`: accepted here, kept as long as they may read, closed within a second when they may not any more,
 * whether they answer or not.
 */
import { hubCloseCodes } from "@corral/domain/http/EventStream"
import type { RequestId } from "@corral/domain/identity/Ids"
import { standardHeaders } from "@corral/service/http/Refusal"
import { CurrentMetrics } from "@corral/service/telemetry/Metrics"
import { Clock, Context, Effect, Layer } from "effect"
import type { IncomingMessage } from "node:http"
import type { Duplex } from "node:stream"
import { WebSocketServer } from "ws"
import { hubMetrics } from "../HubMetrics.ts"
import { RunLog } from "../run/RunLog.ts"
import { Runs } from "../run/Runs.ts"
import { EventSocket, type LogSource } from "./EventSocket.ts"
import { RunFeeds } from "./RunFeeds.ts"
import { type Lost, StreamAuthority, type Subscription } from "./StreamAuthority.ts"

export class EventSockets extends Context.Service<
  EventSockets,
  {
    /** Completes the handshake and serves the subscription until either side ends it. */
    readonly accept: (
      request: IncomingMessage,
      socket: Duplex,
      head: Buffer,
      subscription: Subscription
    ) => void
    /** Ends every subscription with 1001; succeeds when all sockets are closed, by force after a second. */
    readonly closeAll: Effect.Effect<void>
  }
>()("corral/hub/EventSockets") {
  static readonly layer = Layer.effect(
    EventSockets,
    Effect.gen(function* () {
      const authority = yield* StreamAuthority
      const clock = yield* Clock.Clock
      const feeds = yield* RunFeeds
      const log = yield* RunLog
      const runs = yield* Runs
      const services = yield* Effect.context<never>()
      const promise = Effect.runPromiseWith(services)
      const now = () => clock.currentTimeMillisUnsafe()
      const open = new Set<EventSocket>()
      const metrics = yield* CurrentMetrics
      metrics.sample(Effect.sync(() => [[hubMetrics.followers, open.size]]))
      let whenEmpty: (() => void) | undefined

      const handshakes = new WebSocketServer({ noServer: true, clientTracking: false, maxPayload: 4_096 })
      handshakes.on("headers", (headers, request) => {
        // The server has put the id in its place.
        const id = request.headers["x-request-id"] as RequestId
        for (const [name, value] of Object.entries(standardHeaders(id))) headers.push(`${name}: ${value}`)
      })

      const sourceOf = ({ projectId, subject }: Subscription): LogSource => ({
        read: (runId, after) => promise(log.read(runId, after, PAGE)),
        runs: () =>
          "runId" in subject
            ? Promise.resolve([subject.runId])
            : promise(runs.listIdsOfSession(projectId, subject.sessionId))
      })

      const close = (socket: EventSocket, code: number, reason: string) => {
        socket.end(code, reason)
        // A reader that does not answer is not waited for; what it had not taken yet it does not get.
        setTimeout(() => socket.terminate(), FORCE_AFTER_MS).unref()
      }

      const lose = (socket: EventSocket, lost: Lost) =>
        close(
          socket,
          hubCloseCodes[lost],
          lost === "signInEnded" ? "the sign-in has ended" : "access was lost"
        )

      yield* Effect.sync(() => open.forEach((socket) => socket.tick())).pipe(
        Effect.andThen(Effect.sleep("1 second")),
        Effect.forever,
        Effect.forkScoped
      )

      return EventSockets.of({
        accept: (request, stream, head, subscription) =>
          handshakes.handleUpgrade(request, stream, head, (webSocket) => {
            const { subject } = subscription
            const socket = new EventSocket(webSocket, stream, sourceOf(subscription), now, {
              endsWithRun: "runId" in subject,
              positions: new Map("runId" in subject ? [[subject.runId, subject.after]] : [])
            })
            const unfollow = feeds.follow("runId" in subject ? subject.runId : subject.sessionId, socket)
            const unwatch = authority.watch(subscription, (lost) => lose(socket, lost))
            open.add(socket)
            webSocket.once("close", () => {
              socket.release()
              unfollow()
              unwatch()
              open.delete(socket)
              if (open.size === 0) whenEmpty?.()
            })
            if ("runId" in subject && subject.over)
              return socket.end(hubCloseCodes.ended, "the run has ended")
            socket.wokenAll()
          }),
        closeAll: Effect.callback<void>((resume) => {
          if (open.size === 0) return resume(Effect.void)
          whenEmpty = () => resume(Effect.void)
          open.forEach((socket) => socket.end(GOING_AWAY, "the Hub is stopping"))
        }).pipe(
          Effect.timeoutOption("1 second"),
          Effect.andThen(Effect.sync(() => open.forEach((socket) => socket.terminate())))
        )
      })
    })
  )
}

/** Characters of log that are read at once for a reader that is behind. */
const PAGE = 65_536
const FORCE_AFTER_MS = 800
/** RFC 6455: the server goes down. */
const GOING_AWAY = 1001
