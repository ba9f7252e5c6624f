/**
 * The upgrade side of `/v1/events`: who may subscribe to what, and all sockets that are open.
 */
import { beyondEnd } from "@corral/domain/http/EventPosition"
import { decodeEdgeStreamQuery } from "@corral/domain/http/EventStream"
import type { RequestId } from "@corral/domain/identity/Ids"
import { issuesOf } from "@corral/domain/errors/ValidationIssues"
import { Clock, Context, Effect, Layer, Result } from "effect"
import type { IncomingMessage } from "node:http"
import type { Duplex } from "node:stream"
import { WebSocketServer } from "ws"
import { CurrentMetrics } from "@corral/service/telemetry/Metrics"
import { edgeMetrics } from "../EdgeMetrics.ts"
import { EventLog } from "../log/EventLog.ts"
import { RunSupervisor } from "../run/RunSupervisor.ts"
import { EventSocket, type Subscription } from "./EventSocket.ts"
import { STREAM_PATH } from "./Guard.ts"
import { type HttpRefusal, standardHeaders } from "@corral/service/http/Refusal"

export class EventStreams extends Context.Service<
  EventStreams,
  {
    /** Gives what the target asks to follow, or why it may not. */
    readonly admit: (target: string) => Effect.Effect<Subscription, HttpRefusal>
    /** Completes the handshake and serves the subscription until either side ends it. */
    readonly accept: (
      request: IncomingMessage,
      socket: Duplex,
      head: Buffer,
      subscription: Subscription
    ) => void
    /** Ends every subscription; succeeds when all sockets are closed, by force after a second. */
    readonly closeAll: Effect.Effect<void>
  }
>()("corral/edge/EventStreams") {
  static readonly layer = Layer.effect(
    EventStreams,
    Effect.gen(function* () {
      const log = yield* EventLog
      const runs = yield* RunSupervisor
      const clock = yield* Clock.Clock
      const open = new Set<EventSocket>()
      const metrics = yield* CurrentMetrics
      metrics.sample(Effect.sync(() => [[edgeMetrics.followers, open.size]]))
      const handshakes = new WebSocketServer({ noServer: true, clientTracking: false, maxPayload: 4_096 })
      handshakes.on("headers", (headers, request) => {
        // The server has put the id in its place.
        for (const [name, value] of Object.entries(
          standardHeaders(request.headers["x-request-id"] as RequestId)
        ))
          headers.push(`${name}: ${value}`)
      })
      let whenEmpty: (() => void) | undefined
      const now = () => clock.currentTimeMillisUnsafe()

      yield* Effect.forkScoped(
        Effect.forever(
          Effect.andThen(
            Effect.sleep("1 second"),
            Effect.sync(() => open.forEach((each) => each.tick()))
          )
        )
      )
      const admit = Effect.fnUntraced(function* (
        target: string
      ): Effect.fn.Return<Subscription, HttpRefusal> {
        const url = new URL(target, "http://edge")
        if (url.pathname !== STREAM_PATH) return yield* Effect.fail<HttpRefusal>({ code: "not_found" })
        const query = decodeEdgeStreamQuery(Object.fromEntries(url.searchParams))
        if (Result.isFailure(query)) return yield* invalid(issuesOf(query.failure.issue))
        const { runId, after = 0 } = query.success
        if (runId === undefined) {
          // Each run counts for itself: a position over all of them would mean nothing.
          if (query.success.after !== undefined)
            return yield* invalid([{ path: "after", message: "needs a runId" }])
          return { runId, after, over: false }
        }
        yield* runs.get(runId).pipe(Effect.mapError((): HttpRefusal => ({ code: "not_found" })))
        if (after > log.lastSeq(runId)) {
          return yield* invalid([beyondEnd("after")])
        }
        return { runId, after, over: log.endsAt(runId, after) }
      })

      return EventStreams.of({
        admit,
        accept: (request, socket, head, subscription) =>
          handshakes.handleUpgrade(request, socket, head, (webSocket) => {
            const subscriber = new EventSocket(webSocket, socket, log, now, subscription)
            open.add(subscriber)
            webSocket.once("close", () => {
              subscriber.release()
              open.delete(subscriber)
              if (open.size === 0) whenEmpty?.()
            })
          }),
        closeAll: Effect.callback<void>((resume) => {
          if (open.size === 0) return resume(Effect.void)
          whenEmpty = () => resume(Effect.void)
          open.forEach((each) => each.end(GOING_AWAY, "the Edge is stopping"))
        }).pipe(
          Effect.timeoutOption(CLOSE_WITHIN),
          Effect.andThen(Effect.sync(() => open.forEach((each) => each.terminate())))
        )
      })
    })
  )
}

const CLOSE_WITHIN = "1 second"

/** RFC 6455: the server goes down. */
const GOING_AWAY = 1001

const invalid = (issues: ReadonlyArray<{ readonly path: string; readonly message: string }>) =>
  Effect.fail<HttpRefusal>({ code: "schema_validation_failed", details: { issues } })
