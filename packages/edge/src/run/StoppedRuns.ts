/**
 * Runs that were stopped because the store rejected their events. Each is ended in the log as soon as the store accepts writes again.
 *
 * Guarantees: their processes are gone by then. The missing events derive from what is on disk, as after a restart. If the Edge ends
 * first, `Recovery` ends these runs.
 */
import type { RunId } from "@corral/domain/identity/Ids"
import { isTerminal } from "@corral/domain/run/RunEnd"
import { Clock, Effect, Exit, Queue } from "effect"
import type { EdgeEventLog } from "../log/EdgeEventLog.ts"
import type { Store } from "../store/Store.ts"
import { endRun, type ActorLoss } from "./Recovery.ts"
import { findRun } from "../log/Runs.ts"

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
