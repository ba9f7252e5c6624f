/**
 * What a start does about its predecessor: ends the processes it left, and the runs it did not end.
 *
 * A run that was under way when the Edge died is folded from its log and gets the events that were missing: its approvals are
 * cancelled, its tool calls closed, and it fails as `runtime_unavailable` with the reason `edge_restarted`.
 */
import { Clock, Context, Effect, Layer } from "effect"
import { fold, initial, type RunState } from "@corral/domain/run/RunState"
import type { RunId } from "@corral/domain/identity/Ids"
import type { Run } from "@corral/domain/run/Run"
import type { EventDraft } from "@corral/domain/run/RunEvent"
import { pageOfApprovals } from "../approval/Approvals.ts"
import { EdgeConfig } from "../config/EdgeConfig.ts"
import { sweep } from "../process/Containment.ts"
import { groupsOfEdge } from "../process/ControlGroup.ts"
import { leftGroups } from "../process/GroupRecord.ts"
import { EDGE_MARK } from "../process/MarkSweep.ts"
import { EdgeEventLog } from "../log/EdgeEventLog.ts"
import type { StoredBatch } from "../log/StoredBatch.ts"
import { mint } from "@corral/service/Identifiers"
import { RunRecorder } from "./RunRecorder.ts"
import { unfinishedRuns } from "../log/Runs.ts"
import { Store, StoreFailed } from "../store/Store.ts"
import { RESTORE_HINT, StoreDamaged } from "../store/StoreDamage.ts"

const PAGE = 262_144

/** The Edge's lasting id, by which everything it ever started is marked; `undefined` in a store that has none yet. */
const knownId = (store: Store["Service"]): string | undefined =>
  store.get<{ readonly id: string }>("SELECT id FROM edge")?.id

const readSound = (
  log: EdgeEventLog["Service"],
  runId: RunId,
  after: number
): ReadonlyArray<StoredBatch> | undefined => {
  try {
    return log.read(runId, after, PAGE)
  } catch (error) {
    if (error instanceof StoreDamaged) return undefined
    throw error
  }
}

const foldLog = (
  log: EdgeEventLog["Service"],
  run: Run
): { readonly state: RunState; readonly lastSeq: number } => {
  let state = initial
  let lastSeq = 0
  for (;;) {
    const batches = readSound(log, run.id, lastSeq)
    // Nothing can be known of what is damaged: the run ends after it.
    if (batches === undefined) return { state, lastSeq: Math.max(lastSeq, run.lastSeq) }
    const last = batches.at(-1)
    if (last === undefined) return { state, lastSeq }
    for (const { lines } of batches) {
      // The log holds what `makeEventEncoder` wrote of drafts that the machine accepted.
      for (const line of lines.split("\n")) state = fold(state, JSON.parse(line) as EventDraft)
    }
    lastSeq = last.lastSeq
  }
}

/** Why a run has no actor to end it, for its terminal event. */
export interface ActorLoss {
  readonly reason: "edge_restarted" | "store_failed"
  readonly message: string
}

const restarted: ActorLoss = {
  reason: "edge_restarted",
  message: "The Edge ended while the run was under way."
}

/** Appends the events that the log of a run without an actor lacks. */
export const endRun = Effect.fnUntraced(function* (
  store: Store["Service"],
  log: EdgeEventLog["Service"],
  run: Run,
  { message, reason }: ActorLoss,
  now: number
): Effect.fn.Return<void, StoreFailed> {
  const { state, lastSeq } = foldLog(log, run)
  const pending = pageOfApprovals(store, { runId: run.id, state: "pending", limit: 100_000 })
  const recorder = RunRecorder.recovered({ ...run, lastSeq }, state, pending)
  recorder.at(new Date(now).toISOString())
  recorder.apply({
    _tag: "OutcomeReported",
    reason: reason === "edge_restarted" ? "the Edge ended" : "the store failed",
    outcome: {
      _tag: "Failed",
      error: {
        code: "runtime_unavailable",
        message,
        details: { reason }
      }
    }
  })
  recorder.apply({ _tag: "Ended" })
  const batch = recorder.take()
  if (batch !== undefined) yield* log.append(batch.events, batch.projections)
})

/** Reads that the Edge cannot start without. Damaged data refuses the start. */
const readable = <A>(read: () => A): Effect.Effect<A, StoreFailed> =>
  Effect.try({
    try: read,
    catch: (error) =>
      new StoreFailed({
        message: error instanceof StoreDamaged ? `${error.message} ${RESTORE_HINT}` : String(error)
      })
  })

/**
 * Gives the Edge's id. Nothing of an earlier Edge of this store is alive or unfinished when it succeeds. `groupsOf`: the control groups
 * that an Edge may have left.
 */
export const recover = Effect.fnUntraced(function* (
  store: Store["Service"],
  log: EdgeEventLog["Service"],
  groupsOf: (edgeId: string) => ReadonlyArray<string> = groupsOfEdge
): Effect.fn.Return<string, StoreFailed> {
  const now = (yield* Clock.Clock).currentTimeMillisUnsafe()
  const storedId = yield* readable(() => knownId(store))
  if (storedId === undefined) {
    // It has a name before it starts anything: nothing to look for on this machine.
    const id = mint<string>("edge", now)
    yield* store.commit([["INSERT INTO edge (id) VALUES (?)", id]])
    return id
  }
  yield* sweep({ mark: `${EDGE_MARK}=${storedId}`, groups: groupsOf(storedId) })
  for (const run of yield* readable(() => unfinishedRuns(store)))
    yield* endRun(store, log, run, restarted, now).pipe(
      // A damaged store is served as far as it can be read; that is more than no Edge at all.
      Effect.catchIf(
        () => store.damage() !== undefined,
        ({ message }) => Effect.logError(`run ${run.id} could not be ended`, { cause: message })
      )
    )
  return storedId
})

/** Identity of this Edge, for as long as its store exists. Available once nothing of its predecessor is alive or unfinished. */
export class EdgeIdentity extends Context.Service<
  EdgeIdentity,
  {
    readonly edgeId: string
    /** Control groups of the predecessor. Those that still exist could not be removed. */
    readonly left: ReadonlyArray<string>
  }
>()("corral/edge/EdgeIdentity") {
  static readonly layer = Layer.effect(
    EdgeIdentity,
    Effect.gen(function* () {
      const { home } = yield* EdgeConfig
      let left: ReadonlyArray<string> = []
      const edgeId = yield* recover(yield* Store, yield* EdgeEventLog, (id) => (left = leftGroups(home, id)))
      return EdgeIdentity.of({ edgeId, left })
    })
  )
}
