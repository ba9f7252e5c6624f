/** WebSockets at `/v1/events`: checks what a request asks to follow, and serves it. */
import { beyondEnd, decodeEdgeStreamQuery } from "@corral/domain/http/EventStream"
import type { RunId } from "@corral/domain/identity/Ids"
import type { ValidationIssue } from "@corral/domain/errors/ErrorTable"
import { issuesOf } from "@corral/domain/errors/ValidationIssues"
import type { HttpRefusal } from "@corral/service/http/Refusal"
import type { Start } from "@corral/service/stream/LogSource"
import { makeSockets, type Upgrade } from "@corral/service/stream/Sockets"
import { Context, Effect, Layer, Result } from "effect"
import { edgeMetrics } from "../EdgeMetrics.ts"
import { allRunsSource, edgeRunSource } from "../log/EdgeLogSource.ts"
import { EdgeEventLog } from "../log/EdgeEventLog.ts"
import { RunSupervisor } from "../run/RunSupervisor.ts"
import type { StoreDamaged } from "../store/StoreDamage.ts"
import { EDGE_STREAM_PATH } from "./EdgeRequestPolicy.ts"

export interface EdgeSubscription extends Start {
  /** `undefined`: all runs, each in its own order. */
  readonly runId: RunId | undefined
}

export class EventStreams extends Context.Service<
  EventStreams,
  {
    /** Finds what the target asks to follow. Fails when it may not be followed. */
    readonly admit: (target: string) => Effect.Effect<EdgeSubscription, HttpRefusal>
    /** Completes the handshake and serves the subscription until either side ends it. */
    readonly accept: (upgrade: Upgrade, subscription: EdgeSubscription) => void
    /** Closes every socket with 1001. Succeeds when all are closed, by force after a second. */
    readonly closeAll: Effect.Effect<void>
  }
>()("corral/edge/EventStreams") {
  static readonly layer = Layer.effect(
    EventStreams,
    Effect.gen(function* () {
      const log = yield* EdgeEventLog
      const runs = yield* RunSupervisor
      const sockets = yield* makeSockets<StoreDamaged>({
        metric: edgeMetrics.followers,
        stopReason: "the Edge is stopping"
      })

      const admit = Effect.fn("EventStreams.admit")(function* (
        target: string
      ): Effect.fn.Return<EdgeSubscription, HttpRefusal> {
        const url = new URL(target, "http://edge")
        if (url.pathname !== EDGE_STREAM_PATH) return yield* Effect.fail<HttpRefusal>({ code: "not_found" })
        const query = decodeEdgeStreamQuery(Object.fromEntries(url.searchParams))
        if (Result.isFailure(query)) return yield* invalid(issuesOf(query.failure.issue))
        const { runId, after = 0 } = query.success
        if (runId === undefined) {
          // Each run has its own positions: one over all runs has no meaning.
          if (query.success.after !== undefined)
            return yield* invalid([{ path: "after", message: "needs a runId" }])
          return { runId, after, isOver: false }
        }
        yield* runs.get(runId).pipe(Effect.mapError((): HttpRefusal => ({ code: "not_found" })))
        if (after > log.lastSeq(runId)) return yield* invalid([beyondEnd("after")])
        return { runId, after, isOver: log.endsAt(runId, after) }
      })

      return EventStreams.of({
        admit,
        accept: (upgrade, subscription) => {
          const { runId } = subscription
          const source = runId === undefined ? allRunsSource(log) : edgeRunSource(log, runId)
          sockets.accept(upgrade, runId !== undefined, (socket) => socket.follow(source, subscription))
        },
        closeAll: sockets.closeAll
      })
    })
  )
}

const invalid = (issues: ReadonlyArray<ValidationIssue>) =>
  Effect.fail<HttpRefusal>({ code: "schema_validation_failed", details: { issues } })
