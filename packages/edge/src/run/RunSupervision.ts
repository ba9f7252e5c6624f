/** One supervised fiber per live run, from its first event to its end. */
import type { Run } from "@corral/domain/run/Run"
import { isTerminal } from "@corral/domain/run/RunEnd"
import type { Counter, Metrics } from "@corral/service/telemetry/Metrics"
import type { TraceSpan } from "@corral/service/telemetry/Traces"
import { Deferred, Effect } from "effect"
import { edgeMetrics } from "../EdgeMetrics.ts"
import type { StoreFailed } from "../store/Store.ts"
import type { Worktrees } from "../workspace/Worktrees.ts"
import type { LiveRuns } from "./LiveRuns.ts"
import type { RunActor } from "./RunActor.ts"
import type { StoppedRuns } from "./StoppedRuns.ts"

type RunOutcome = "completed" | "failed" | "cancelled" | "lost"

export interface RunSupervision {
  readonly live: LiveRuns
  readonly stopped: StoppedRuns
  readonly worktrees: Worktrees["Service"]
  readonly counters: Readonly<Record<RunOutcome, Counter>>
}

export const runCounters = (metrics: Metrics): RunSupervision["counters"] => ({
  completed: metrics.counter(edgeMetrics.ended, { outcome: "completed" }),
  failed: metrics.counter(edgeMetrics.ended, { outcome: "failed" }),
  cancelled: metrics.counter(edgeMetrics.ended, { outcome: "cancelled" }),
  lost: metrics.counter(edgeMetrics.ended, { outcome: "lost" })
})

/** Runs an actor to its end, then removes what only a live run needs. */
export const superviseRun = (
  { counters, live, stopped, worktrees }: RunSupervision,
  actor: RunActor,
  span: TraceSpan | undefined
): Effect.Effect<void, StoreFailed> => {
  const { id } = actor.run
  const isLeft = () => live.isLeaving && actor.isHeld && !isTerminal(actor.run.state)
  return Effect.scoped(actor.live).pipe(
    Effect.tapError(() => Effect.sync(() => stopped.add(id))),
    Effect.tapCause((cause) =>
      isLeft() ? Effect.void : Effect.logError(`run ${id} lost its supervision`, cause)
    ),
    // Suspended: a live run does not hold the effects of its end.
    Effect.ensuring(Effect.suspend(() => (isLeft() ? Effect.void : worktrees.settle(id)))),
    Effect.ensuring(
      Effect.sync(() => {
        if (isLeft()) return
        const outcome = outcomeOf(actor.run)
        counters[outcome].add()
        span?.end({ "corral.run.outcome": outcome }, outcome === "failed" || outcome === "lost")
        live.actors.delete(id)
      })
    )
  )
}

const outcomeOf = ({ state }: Run): RunOutcome =>
  state === "completed" || state === "failed" || state === "cancelled" ? state : "lost"

/** The run once it has ended, or as it is on disk after `millis`. */
export const awaitEnd = (actor: RunActor, millis: number): Effect.Effect<Run> =>
  Effect.timeoutOption(Effect.exit(Deferred.await(actor.ended)), millis).pipe(Effect.map(() => actor.run))

/** Cancels every live run and waits up to `patienceMs` for their ends. No further run is admitted. */
export const endRuns = (live: LiveRuns, patienceMs: number): Effect.Effect<void> =>
  Effect.suspend(() => {
    live.isDraining = true
    return endAll([...live.actors.values()], patienceMs)
  })

/** Leaves the runs that outlive this Edge to the next one, and ends the others as `endRuns` does. */
export const leaveRuns = (live: LiveRuns, patienceMs: number): Effect.Effect<void> =>
  Effect.suspend(() => {
    live.isDraining = true
    live.isLeaving = true
    return endAll(
      [...live.actors.values()].filter(({ isHeld }) => !isHeld),
      patienceMs
    )
  })

const endAll = (actors: ReadonlyArray<RunActor>, patienceMs: number): Effect.Effect<void> =>
  Effect.suspend(() => {
    for (const actor of actors) actor.cancel("the Edge is stopping", "system")
    return Effect.forEach(actors, (actor) => awaitEnd(actor, patienceMs), {
      concurrency: "unbounded",
      discard: true
    })
  })
