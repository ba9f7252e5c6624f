/**
 * What a start does about its predecessor: ends the processes it left, and the runs it did not end. Runs that the holder has are left for
 * their adoption.
 *
 * A run that was under way when the Edge died is folded from its log and gets the events that were missing: its approvals are
 * cancelled, its tool calls closed, and it fails as `runtime_unavailable` with the reason `edge_restarted`. `LoggedRun` is a run as its log shows
 * it, also for an adoption.
 */
import { Clock, Context, Effect, Layer } from "effect"
import type { Run } from "@corral/domain/run/Run"
import { EdgeConfig } from "../../config/EdgeConfig.ts"
import { basename } from "node:path"
import { Holder } from "../../holder/Holder.ts"
import { Containment, sweep } from "../../process/Containment.ts"
import { hasArtifactFiles } from "../../process/ProgramFiles.ts"
import { temporaryFolderOf } from "../../process/TemporaryFolder.ts"
import { groupsIn, groupsOfEdge } from "../../process/ControlGroup.ts"
import { leftGroups } from "../../process/GroupRecord.ts"
import { EDGE_MARK, RUN_MARK } from "../../process/ProcessSweep.ts"
import { EdgeEventLog } from "../../log/EdgeEventLog.ts"
import { mint } from "@corral/service/Identifiers"
import { type EventDraft, type RunEvent, draft } from "@corral/domain/run/RunEvent"
import { type RunState, fold, initial } from "@corral/domain/run/RunState"
import type { Outcome } from "@corral/domain/run/RuntimeAdapter"
import { unfinishedWork } from "@corral/domain/run/RunMachine"
import {
  type JournaledCall,
  type StoredJournal,
  forgetJournal,
  readJournal
} from "../../journal/RunJournal.ts"
import { type PendingRows, RunRecorder } from "../kernel/RunRecorder.ts"
import { unfinishedRuns } from "../../log/Runs.ts"
import { Store, StoreFailed } from "../../store/Store.ts"
import { RESTORE_HINT, StoreDamaged } from "../../store/StoreDamage.ts"
import type { RunId } from "@corral/domain/identity/Ids"
import { ResultContents } from "../../artifact/ResultContents.ts"
import type { StoredBatch } from "../../log/StoredEvents.ts"
import type { InputRequest } from "@corral/domain/input/InputRequest"
import { findInput, pageOfApprovals, pageOfInputs } from "../../store/EdgeRequestRows.ts"
import { openedAnswers, secretTexts } from "../../input/SecretAnswers.ts"

/**
 * Journal of an adopted run with its sealed answers opened, as the runtime received them.
 *
 * Does not: replay an answer whose key is lost. Its run cannot be adopted.
 */
interface OpenedJournal {
  readonly journal: StoredJournal
  /** Secret texts by the call that answers with them. */
  readonly secrets: ReadonlyMap<JournaledCall, ReadonlyArray<string>>
}

/** `keys`: private keys by the ids of their questions, as the holder kept them. Fails with a sentence. */
export const openedJournal = Effect.fnUntraced(function* (
  store: Store["Service"],
  journal: StoredJournal,
  keys: Readonly<Record<string, string>> = {}
): Effect.fn.Return<OpenedJournal, string> {
  const secrets = new Map<JournaledCall, ReadonlyArray<string>>()
  const calls: Array<JournaledCall> = []
  for (const call of journal.calls) {
    const input = call._tag === "Respond" ? findInput(store, call.inputId) : undefined
    const opened = input === undefined ? call : yield* openedCall(call, input, keys[input.id])
    calls.push(opened)
    if (input !== undefined && opened._tag === "Respond" && opened.response._tag === "Answered")
      secrets.set(opened, secretTexts(input, opened.response.answers))
  }
  return { journal: { ...journal, calls }, secrets }
})

const openedCall = Effect.fnUntraced(function* (
  call: JournaledCall,
  input: InputRequest,
  privateKey: string | undefined
): Effect.fn.Return<JournaledCall, string> {
  if (call._tag !== "Respond" || call.response._tag !== "Answered") return call
  const { response } = call
  const { sealingKey: publicKey } = input
  const sealing = publicKey === undefined || privateKey === undefined ? undefined : { publicKey, privateKey }
  const { answers, unopened } = yield* Effect.promise(() =>
    openedAnswers(sealing, input.id, input, response.answers)
  )
  if (unopened.length > 0) return yield* Effect.fail("The key of a secret answer is lost.")
  return { ...call, response: { ...response, answers } }
})

/** Rows of a run that wait for people. */
export const pendingRows = (store: Store["Service"], { id }: Run): PendingRows => {
  const page = { runId: id, state: "pending", limit: 100_000 } as const
  return { approvals: pageOfApprovals(store, page), inputs: pageOfInputs(store, page) }
}

const PAGE = 262_144

/** A clock that stops and starts. */
interface ClockReading {
  /** Milliseconds before `since`. */
  readonly millis: number
  /** Since when it runs, in Unix milliseconds; `undefined` while it stands. */
  readonly since: number | undefined
}

/** What a clock shows at that time, in Unix milliseconds. */
export const millisAt = ({ millis, since }: ClockReading, now: number): number =>
  millis + (since === undefined ? 0 : now - since)

const turned = (reading: ClockReading, isRunning: boolean, now: number): ClockReading =>
  isRunning === (reading.since !== undefined)
    ? reading
    : { millis: millisAt(reading, now), since: isRunning ? now : undefined }

const standing: ClockReading = { millis: 0, since: undefined }

export interface LoggedRun {
  readonly state: RunState
  readonly lastSeq: number
  /** Time without a pending approval or question, without pauses, and without the time between turns. */
  readonly active: ClockReading
  /** Time since the end of the last turn, without a pending approval or question and without pauses. */
  readonly background: ClockReading
  /** Time without pauses. */
  readonly wall: ClockReading
  /** Ids of the system's messages, such as warnings about a budget. */
  readonly notices: ReadonlySet<string>
  /** Artifacts whose calls have no result yet. */
  readonly contents: ResultContents
}

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

/** Reads the log of a run, as far as it is sound. Nothing can be known of what is damaged: the run continues after it. */
export const readLoggedRun = (log: EdgeEventLog["Service"], run: Run): LoggedRun => {
  const reader = new LogReader()
  for (;;) {
    const batches = readSound(log, run.id, reader.lastSeq)
    const last = batches?.at(-1)
    if (batches === undefined || last === undefined)
      return reader.result(batches === undefined ? Math.max(reader.lastSeq, run.lastSeq) : reader.lastSeq)
    for (const { lines } of batches) {
      // The log holds what `makeEventEncoder` wrote of drafts that the machine accepted.
      for (const line of lines.split("\n")) reader.read(JSON.parse(line) as EventDraft & RunEvent)
    }
    reader.lastSeq = last.lastSeq
  }
}

class LogReader {
  lastSeq = 0
  #state: RunState = initial
  #active = standing
  #background = standing
  #wall = standing
  readonly #notices = new Set<string>()
  readonly #contents = new ResultContents()

  read(event: EventDraft & RunEvent): void {
    const before = this.#state
    this.#state = fold(before, event)
    this.#contents.read(event)
    if (event.type === "run.message.completed" && event.payload.role === "system")
      this.#notices.add(event.payload.messageId)
    if (event.type === "run.turn.ended") this.#background = standing
    this.#count(Date.parse(event.createdAt))
  }

  result(lastSeq: number): LoggedRun {
    return {
      state: this.#state,
      lastSeq,
      active: this.#active,
      background: this.#background,
      wall: this.#wall,
      notices: this.#notices,
      contents: this.#contents
    }
  }

  #count(now: number): void {
    const { isIdle, paused, pending, pendingInputs, started } = this.#state
    const isRunning = started && paused !== true
    this.#wall = turned(this.#wall, isRunning, now)
    const isFree = isRunning && pending.size === 0 && pendingInputs.size === 0
    this.#active = turned(this.#active, isFree && !isIdle, now)
    this.#background = turned(this.#background, isFree && isIdle, now)
  }
}

/** The Edge's lasting id, by which everything it ever started is marked; `undefined` in a store that has none yet. */
const knownId = (store: Store["Service"]): string | undefined =>
  store.get<{ readonly id: string }>("SELECT id FROM edge")?.id

/** Why a run has no actor to end it, for its terminal event. */
export interface ActorLoss {
  readonly reason: "edge_restarted" | "store_failed"
  readonly message: string
  /** Whether the program has left files in its folder for artifacts. */
  readonly leavesFiles?: boolean
}

const restarted: ActorLoss = {
  reason: "edge_restarted",
  message: "The Edge ended while the run was under way."
}

const filesLost = draft("run.notice", {
  kind: "warning",
  text: "The Edge ended before the run. Files in the folder for artifacts that were not published before are lost."
})

/** Appends the events that the log of a run without an actor lacks. */
export const endRun = Effect.fnUntraced(function* (
  store: Store["Service"],
  log: EdgeEventLog["Service"],
  run: Run,
  { leavesFiles = false, message, reason }: ActorLoss,
  now: number
): Effect.fn.Return<void, StoreFailed> {
  const { contents, lastSeq, state } = readLoggedRun(log, run)
  // The row of the run is newer than the last report in the log.
  const used = run.usage ?? state.usage
  const recorder = RunRecorder.recovered(
    { ...run, lastSeq },
    { ...state, used },
    pendingRows(store, run),
    contents
  )
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
  if (leavesFiles) recorder.apply({ _tag: "EventEmitted", event: filesLost })
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
  /** Whether a run has left files in its folder for artifacts. */
  readonly leavesFiles?: (id: RunId) => boolean
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
  { groupsOf = groupsOfEdge, held = new Map(), leavesFiles = () => false }: RecoveryOptions = {}
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
    yield* endRun(store, log, run, { ...restarted, leavesFiles: leavesFiles(run.id) }, now).pipe(
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
  edgeId: string,
  run: Run
): Effect.fn.Return<void, StoreFailed, Containment | EdgeEventLog | Holder | Store> {
  const containment = yield* Containment
  const holder = yield* Holder
  const group = holder.found.find(({ id }) => id === run.id)?.group ?? containment.groupOf(edgeId, run.id)
  yield* sweep({ mark: `${RUN_MARK}=${run.id}`, groups: group === undefined ? [] : [group] })
  yield* endRun(yield* Store, yield* EdgeEventLog, run, restarted, yield* Clock.currentTimeMillis)
})

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
        held: new Map(found.map(({ group, id }) => [id, group])),
        leavesFiles: (id) => hasArtifactFiles(temporaryFolderOf(home, id))
      })
      return EdgeIdentity.of({ edgeId, groups, left })
    })
  )
}
