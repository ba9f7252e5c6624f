/** A run as its log shows it: its state, the time that its clocks have measured, and the warnings that it has received. */
import type { EventDraft, RunEvent } from "@corral/domain/run/RunEvent"
import type { RunId } from "@corral/domain/identity/Ids"
import type { Run } from "@corral/domain/run/Run"
import { type RunState, fold, initial } from "@corral/domain/run/RunState"
import { ResultContents } from "../../artifact/ResultContents.ts"
import type { EdgeEventLog } from "../../log/EdgeEventLog.ts"
import type { StoredBatch } from "../../log/StoredBatch.ts"
import { StoreDamaged } from "../../store/StoreDamage.ts"
import type { PendingRows } from "../kernel/RunRecorder.ts"
import type { InputRequest } from "@corral/domain/input/InputRequest"
import { findInput, pageOfApprovals, pageOfInputs } from "../../store/EdgeRequestRows.ts"
import type { Store } from "../../store/Store.ts"
import { Effect } from "effect"
import { openedAnswers, secretTexts } from "../../input/SecretAnswers.ts"
import type { JournaledCall, StoredJournal } from "../../journal/RunJournal.ts"

// Journal of an adopted run with its sealed answers opened, as the runtime received them.
//
// Does not: replay an answer whose key is lost. Its run cannot be adopted.

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
export interface ClockReading {
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
