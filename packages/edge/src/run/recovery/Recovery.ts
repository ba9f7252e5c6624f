/**
 * What a start does about its predecessor: ends the processes it left, and the runs it did not end. Runs that the holder has are left for
 * their adoption.
 *
 * A run that was under way when the Edge died is folded from its log and gets the events that were missing: its approvals are
 * cancelled, its tool calls closed, and it fails as `runtime_unavailable` with the reason `edge_restarted`.
 */
import { Clock, Context, Effect, Layer } from "effect"
import type { Run } from "@corral/domain/run/Run"
import { EdgeConfig } from "../../config/EdgeConfig.ts"
import { basename } from "node:path"
import { Holder } from "../../holder/Holder.ts"
import { type Containment, sweep } from "../../process/Containment.ts"
import { groupsIn, groupsOfEdge } from "../../process/ControlGroup.ts"
import { leftGroups } from "../../process/GroupRecord.ts"
import { EDGE_MARK, RUN_MARK } from "../../process/MarkSweep.ts"
import { EdgeEventLog } from "../../log/EdgeEventLog.ts"
import { mint } from "@corral/service/Identifiers"
import { draft } from "@corral/domain/run/RunEvent"
import type { RunState } from "@corral/domain/run/RunState"
import type { Outcome } from "@corral/domain/run/RuntimeAdapter"
import { unfinishedWork } from "@corral/domain/run/RunMachine"
import { forgetJournal, readJournal } from "../../journal/RunJournal.ts"
import { pendingRows, readLoggedRun } from "./LoggedRun.ts"
import { RunRecorder } from "../kernel/RunRecorder.ts"
import { unfinishedRuns } from "../../log/Runs.ts"
import { Store, StoreFailed } from "../../store/Store.ts"
import { RESTORE_HINT, StoreDamaged } from "../../store/StoreDamage.ts"

/** The Edge's lasting id, by which everything it ever started is marked; `undefined` in a store that has none yet. */
const knownId = (store: Store["Service"]): string | undefined =>
  store.get<{ readonly id: string }>("SELECT id FROM edge")?.id

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
  const { contents, lastSeq, state } = readLoggedRun(log, run)
  const recorder = RunRecorder.recovered({ ...run, lastSeq }, state, pendingRows(store, run), contents)
  recorder.at(new Date(now).toISOString())
  recorder.apply({
    _tag: "FailureImposed",
    reason: reason === "edge_restarted" ? "the Edge ended" : "the store failed",
    error: hasCutWork(state, readJournal(store, run.id).state?.held)
      ? unfinishedWork(state)
      : { code: "runtime_unavailable", message, details: { reason } }
  })
  // The workspace was not compared when the last process of the run had ended.
  recorder.apply({ _tag: "EventEmitted", event: draft("run.changes.unknown", { reason: "interrupted" }) })
  recorder.apply({ _tag: "Ended" })
  recorder.addRows([forgetJournal(run.id)])
  const batch = recorder.take()
  if (batch !== undefined) yield* log.append(batch.events, batch.projections)
})

/** Whether only background work was in progress. `held`: the outcome of the last turn, if it is known. */
const hasCutWork = ({ isIdle, outstanding }: RunState, held: Outcome | undefined): boolean =>
  isIdle && outstanding.size > 0 && held?._tag !== "Failed"

/** Reads that the Edge cannot start without. Damaged data refuses the start. */
const readable = <A>(read: () => A): Effect.Effect<A, StoreFailed> =>
  Effect.try({
    try: read,
    catch: (error) =>
      new StoreFailed({
        message: error instanceof StoreDamaged ? `${error.message} ${RESTORE_HINT}` : String(error)
      })
  })

export interface RecoveryOptions {
  /** The control groups that an Edge may have left. */
  readonly groupsOf?: (edgeId: string) => ReadonlyArray<string>
  /** Control groups of the runs that the holder has, by their ids. */
  readonly held?: ReadonlyMap<string, string | undefined>
}

export interface Recovered {
  readonly edgeId: string
  /** Unfinished runs that the holder has. They are alive. */
  readonly left: ReadonlyArray<Run>
}

/** Gives the Edge's id. Nothing of an earlier Edge of this store is alive or unfinished when it succeeds, except the runs that are left. */
export const recover = Effect.fnUntraced(function* (
  store: Store["Service"],
  log: EdgeEventLog["Service"],
  { groupsOf = groupsOfEdge, held = new Map() }: RecoveryOptions = {}
): Effect.fn.Return<Recovered, StoreFailed> {
  const now = (yield* Clock.Clock).currentTimeMillisUnsafe()
  const storedId = yield* readable(() => knownId(store))
  if (storedId === undefined) {
    // It has a name before it starts anything: nothing to look for on this machine.
    const id = mint<string>("edge", now)
    yield* store.commit([["INSERT INTO edge (id) VALUES (?)", id]])
    return { edgeId: id, left: [] }
  }
  const unfinished = yield* readable(() => unfinishedRuns(store))
  const left = unfinished.filter(({ id }) => held.has(id))
  const leftIds = new Set(left.map(({ id }): string => id))
  const keptGroups = new Set(left.map(({ id }) => held.get(id)))
  const isLeft = (group: string) => leftIds.has(basename(group)) || keptGroups.has(group)
  yield* sweep({
    mark: `${EDGE_MARK}=${storedId}`,
    except: [...leftIds].map((id) => `${RUN_MARK}=${id}`),
    groups: groupsOf(storedId).flatMap((group) =>
      leftIds.size === 0 ? [group] : groupsIn(group).filter((inner) => !isLeft(inner))
    )
  })
  for (const run of unfinished.filter(({ id }) => !leftIds.has(id)))
    yield* endRun(store, log, run, restarted, now).pipe(
      // A damaged store is served as far as it can be read; that is more than no Edge at all.
      Effect.catchIf(
        () => store.damage() !== undefined,
        ({ message }) => Effect.logError(`run ${run.id} could not be ended`, { cause: message })
      )
    )
  return { edgeId: storedId, left }
})

/** Ends a run that was left alive and cannot be continued. */
export const endLostRun = Effect.fn("Recovery.endLostRun")(function* (
  { clock, containment, edgeId, holder, log, store }: LostRunContext,
  run: Run
): Effect.fn.Return<void, StoreFailed> {
  const group = holder.found.find(({ id }) => id === run.id)?.group ?? containment.groupOf(edgeId, run.id)
  yield* sweep({ mark: `${RUN_MARK}=${run.id}`, groups: group === undefined ? [] : [group] })
  yield* endRun(store, log, run, restarted, clock.currentTimeMillisUnsafe())
})

interface LostRunContext {
  readonly store: Store["Service"]
  readonly log: EdgeEventLog["Service"]
  readonly clock: Clock.Clock
  readonly containment: Containment["Service"]
  readonly edgeId: string
  readonly holder: Holder["Service"]
}

/** Identity of this Edge, for as long as its store exists. Available once nothing of its predecessor is alive or unfinished. */
export class EdgeIdentity extends Context.Service<
  EdgeIdentity,
  {
    readonly edgeId: string
    /** Control groups of the predecessor. Those that still exist could not be removed, or have a run that is left. */
    readonly groups: ReadonlyArray<string>
    /** Runs of the predecessor that are alive. */
    readonly left: ReadonlyArray<Run>
  }
>()("corral/edge/EdgeIdentity") {
  static readonly layer = Layer.effect(
    EdgeIdentity,
    Effect.gen(function* () {
      const { home } = yield* EdgeConfig
      const { found } = yield* Holder
      let groups: ReadonlyArray<string> = []
      const { edgeId, left } = yield* recover(yield* Store, yield* EdgeEventLog, {
        groupsOf: (id) => (groups = leftGroups(home, id)),
        held: new Map(found.map(({ group, id }) => [id, group]))
      })
      return EdgeIdentity.of({ edgeId, groups, left })
    })
  )
}
