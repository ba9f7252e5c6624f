/** A run as its log shows it: its state, the time that its clocks have measured, and the warnings that it has received. */
import type { EventDraft, RunEvent } from "@corral/domain/run/RunEvent"
import type { RunId } from "@corral/domain/identity/Ids"
import type { Run } from "@corral/domain/run/Run"
import { fold, initial, type RunState } from "@corral/domain/run/RunState"
import type { EdgeEventLog } from "../log/EdgeEventLog.ts"
import type { StoredBatch } from "../log/StoredBatch.ts"
import { StoreDamaged } from "../store/StoreDamage.ts"

const PAGE = 262_144

export interface LoggedRun {
  readonly state: RunState
  readonly lastSeq: number
  /** Unix milliseconds of the time without a pending approval before `activeSince`. */
  readonly activeMs: number
  /** Since when no approval is pending, in Unix milliseconds; `undefined` while one is, and before the start. */
  readonly activeSince: number | undefined
  /** Ids of the system's messages, such as warnings about a budget. */
  readonly notices: ReadonlySet<string>
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
  #activeMs = 0
  #activeSince: number | undefined
  readonly #notices = new Set<string>()

  read(event: EventDraft & RunEvent): void {
    const before = this.#state
    this.#state = fold(before, event)
    if (event.type === "run.message.completed" && event.payload.role === "system")
      this.#notices.add(event.payload.messageId)
    this.#count(Date.parse(event.createdAt))
  }

  result(lastSeq: number): LoggedRun {
    return {
      state: this.#state,
      lastSeq,
      activeMs: this.#activeMs,
      activeSince: this.#activeSince,
      notices: this.#notices
    }
  }

  #count(now: number): void {
    const isActive = this.#state.started && this.#state.pending.length === 0
    if (isActive === (this.#activeSince !== undefined)) return
    if (this.#activeSince !== undefined) this.#activeMs += now - this.#activeSince
    this.#activeSince = isActive ? now : undefined
  }
}
