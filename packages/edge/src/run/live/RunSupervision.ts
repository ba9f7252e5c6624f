/** One supervised fiber per live run, from its first event to its end. */
import type { Run } from "@corral/domain/run/Run"
import { isTerminal } from "@corral/domain/run/RunEnd"
import type { Counter, Metrics } from "@corral/service/telemetry/Metrics"
import type { TraceSpan } from "@corral/service/telemetry/Traces"
import { Clock, Deferred, Effect, Exit, Queue } from "effect"
import { edgeMetrics } from "../../EdgeMetrics.ts"
import type { Store, StoreFailed } from "../../store/Store.ts"
import type { Worktrees } from "../../workspace/Worktrees.ts"
import type { LiveRuns } from "./LiveRuns.ts"
import type { RunActor } from "../actor/RunActor.ts"
import type { RunId } from "@corral/domain/identity/Ids"
import type { EdgeEventLog } from "../../log/EdgeEventLog.ts"
import { type ActorLoss, endRun } from "../recovery/Recovery.ts"
import { findRun } from "../../log/Runs.ts"

// Runs that were stopped because the store rejected their events. Each is ended in the log as soon as the store accepts writes again.
//
// Guarantees: their processes are gone by then. The missing events derive from what is on disk, as after a restart. If the Edge ends
// first, `Recovery` ends these runs.

const lost: ActorLoss = {
  reason: "store_failed",
  message: "The Edge's store did not take what the run said: the run was stopped."
}

const RETRY = "1 second"

export interface StoppedRuns {
  /** Adds a run whose actor is gone and whose last append failed. A run that is not on disk is ignored. */
  readonly add: (id: RunId) => void
}

export const makeStoppedRuns = Effect.fnUntraced(function* (
  store: Store["Service"],
  log: EdgeEventLog["Service"]
) {
  const stopped = new Set<RunId>()
  const more = yield* Queue.sliding<void>(1)

  const end = Effect.fnUntraced(function* (id: RunId) {
    const run = findRun(store, id)
    if (run !== undefined && !isTerminal(run.state)) {
      const now = yield* Clock.currentTimeMillis
      yield* endRun(store, log, run, lost, now)
    }
    stopped.delete(id)
  })

  const endAll = Effect.gen(function* () {
    while (stopped.size > 0) {
      yield* store.writable
      const exit = yield* Effect.exit(Effect.forEach([...stopped], end, { discard: true }))
      if (Exit.isSuccess(exit)) continue
      yield* Effect.logError("a stopped run could not be ended yet", exit.cause)
      yield* Effect.sleep(RETRY)
    }
  })
  yield* Effect.forkScoped(Effect.forever(Effect.andThen(Queue.take(more), endAll)))

  const stoppedRuns: StoppedRuns = {
    add: (id) => {
      stopped.add(id)
      Queue.offerUnsafe(more, undefined)
    }
  }
  return stoppedRuns
})

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
    return cancelAll([...live.actors.values()], patienceMs)
  })

/** Leaves the runs that outlive this Edge to the next one, and ends the others as `endRuns` does. */
export const leaveRuns = (live: LiveRuns, patienceMs: number): Effect.Effect<void> =>
  Effect.suspend(() => {
    live.isDraining = true
    live.isLeaving = true
    return cancelAll(
      [...live.actors.values()].filter(({ isHeld }) => !isHeld),
      patienceMs
    )
  })

const cancelAll = (actors: ReadonlyArray<RunActor>, patienceMs: number): Effect.Effect<void> =>
  Effect.suspend(() => {
    for (const actor of actors) actor.cancel("the Edge is stopping", "system")
    return Effect.forEach(actors, (actor) => awaitEnd(actor, patienceMs), {
      concurrency: "unbounded",
      discard: true
    })
  })
