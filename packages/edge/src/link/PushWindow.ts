/**
 * What of which run is pushed next: per run a cursor over its log, and turns among the runs.
 *
 * Plain and synchronous; it holds positions and no events. Every event is pushed in order and without gaps from where the Hub's log of
 * the run ends; what is not taken is gone back to, and a run that is gone back to in vain is put aside.
 */
import {
  type Ack,
  type EventBatch,
  MAX_PUSH_CHARACTERS,
  MAX_PUSH_EVENTS,
  type PushAck
} from "@corral/domain/link/EdgeLink"
import type { RunId } from "@corral/domain/identity/Ids"
import type { EdgeEventLog } from "../log/EdgeEventLog.ts"
import { StoreDamaged } from "../store/StoreDamage.ts"

/** Why nothing more of a run is pushed. `damaged` and `stuck`: on this link; everything else is for good. */
export interface PushEnd extends Ack {
  readonly why:
    | "complete"
    | "damaged"
    | "forgotten"
    | "permission_denied"
    | "schema_validation_failed"
    | "stuck"
}

/** On its way until it is settled. */
export interface Push {
  readonly batches: ReadonlyArray<EventBatch>
  /** For each batch, how often its run had been gone back to. */
  readonly turns: ReadonlyArray<number>
}

interface Cursor {
  readonly runId: RunId
  acked: number
  sent: number
  /** The seq of the terminal event, once it has been read. */
  end: number | undefined
  turn: number
  /** How often it was gone back to since something was taken. */
  futile: number
}

const MAX_FUTILE = 3

export class PushWindow {
  private readonly log: Pick<EdgeEventLog["Service"], "read" | "isForgotten" | "endsAt">
  private readonly onEnd: (end: PushEnd) => void
  private readonly cursors = new Map<RunId, Cursor>()
  /** Runs of which there may be more, in the order of their turns. */
  private readonly ready = new Set<RunId>()

  constructor(log: PushWindow["log"], onEnd: (end: PushEnd) => void) {
    this.log = log
    this.onEnd = onEnd
  }

  get hasReady(): boolean {
    return this.ready.size > 0
  }

  /** Takes a run up after the seq up to which the Hub has it. */
  open(runId: RunId, acked: number): void {
    if (this.cursors.has(runId)) return
    const cursor = { runId, acked, sent: acked, end: undefined, turn: 0, futile: 0 }
    this.cursors.set(runId, cursor)
    const isComplete = this.undamaged(cursor, () => this.log.endsAt(runId, acked))
    if (isComplete === true) this.finish(cursor, "complete")
    else if (isComplete === false) this.ready.add(runId)
  }

  /** There is more in the log of that run. */
  more(runId: RunId): void {
    const cursor = this.cursors.get(runId)
    if (cursor !== undefined && cursor.futile < MAX_FUTILE) this.ready.add(runId)
  }

  /** The next push; `undefined` where there is nothing to push. */
  take(): Push | undefined {
    const batches: Array<EventBatch> = []
    const turns: Array<number> = []
    let events = 0
    let characters = 0
    const served = new Set<RunId>()
    for (const runId of this.ready) {
      // All have had their turn.
      if (served.has(runId)) break
      const cursor = this.cursors.get(runId)
      const lines = cursor === undefined ? [] : this.read(cursor, MAX_PUSH_CHARACTERS - characters)
      if (cursor === undefined || lines.length === 0) {
        this.ready.delete(runId)
        if (this.cursors.has(runId) && cursor !== undefined && this.log.isForgotten(runId))
          this.finish(cursor, "forgotten")
        continue
      }
      let taken = 0
      for (const line of lines) {
        const fits = events < MAX_PUSH_EVENTS && characters + line.length <= MAX_PUSH_CHARACTERS
        if (!fits && events > 0) break
        events++
        characters += line.length
        taken++
      }
      // It no longer fits: it comes first in the next push.
      if (taken === 0) break
      batches.push({ runId, firstSeq: cursor.sent + 1, events: lines.slice(0, taken) })
      turns.push(cursor.turn)
      cursor.sent += taken
      served.add(runId)
      this.ready.delete(runId)
      // That there is no more is known when nothing is read: what was read may have ended with a row.
      if (cursor.sent !== cursor.end) this.ready.add(runId)
      if (events >= MAX_PUSH_EVENTS || characters >= MAX_PUSH_CHARACTERS) break
    }
    return batches.length === 0 ? undefined : { batches, turns }
  }

  /** What became of a push. */
  settle({ batches, turns }: Push, acks: ReadonlyArray<PushAck>): void {
    for (const [i, batch] of batches.entries()) {
      const cursor = this.cursors.get(batch.runId)
      const ack = acks.find(({ runId }) => runId === batch.runId)
      if (cursor === undefined) continue
      if (ack !== undefined && ack.seq > cursor.acked) {
        cursor.acked = ack.seq
        cursor.sent = Math.max(cursor.sent, ack.seq)
        cursor.futile = 0
      }
      const lastSeq = batch.firstSeq + batch.events.length - 1
      if (ack?.refused === "permission_denied" || ack?.refused === "schema_validation_failed")
        this.finish(cursor, ack.refused)
      else if (cursor.end !== undefined && cursor.acked >= cursor.end) this.finish(cursor, "complete")
      // Of the pushes that were under way together, the first goes back for all of them.
      else if (cursor.acked < lastSeq && turns[i] === cursor.turn) this.goBack(cursor)
    }
  }

  private read(cursor: Cursor, budget: number): ReadonlyArray<string> {
    const batches =
      this.undamaged(cursor, () => this.log.read(cursor.runId, cursor.sent, Math.max(budget, 1))) ?? []
    const last = batches.at(-1)
    if (last?.terminal === true) cursor.end = last.lastSeq
    return batches.flatMap(({ lines }) => lines.split("\n"))
  }

  /** Ends the run's pushes where its log is damaged: the other runs go on. */
  private undamaged<A>(cursor: Cursor, read: () => A): A | undefined {
    try {
      return read()
    } catch (error) {
      if (!(error instanceof StoreDamaged)) throw error
      this.finish(cursor, "damaged")
      return undefined
    }
  }

  private goBack(cursor: Cursor): void {
    cursor.turn++
    cursor.sent = cursor.acked
    cursor.futile++
    if (cursor.futile < MAX_FUTILE) this.ready.add(cursor.runId)
    else {
      this.ready.delete(cursor.runId)
      this.onEnd({ runId: cursor.runId, seq: cursor.acked, why: "stuck" })
    }
  }

  private finish({ acked, runId }: Cursor, why: PushEnd["why"]): void {
    this.cursors.delete(runId)
    this.ready.delete(runId)
    this.onEnd({ runId, seq: acked, why })
  }
}
