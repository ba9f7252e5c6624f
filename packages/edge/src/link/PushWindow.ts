/**
 * Selection of the next push: a cursor over the log of each run, round robin among the runs. Plain and synchronous; it stores positions and no
 * events.
 *
 * Guarantees: events are pushed in order and without gaps, from the end of the Hub's log of the run. After a rejected push, the cursor goes back.
 * A run without progress is not pushed again until `retryStuck`.
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

/** Reason for the end of a run's push. `damaged` applies to this link, `stuck` for a while, other reasons permanently. */
export interface PushEnd extends Ack {
  readonly reason:
    | "complete"
    | "damaged"
    | "forgotten"
    | "permission_denied"
    | "schema_validation_failed"
    | "stuck"
}

/** A push in flight. */
export interface Push {
  readonly batches: ReadonlyArray<EventBatch>
  /** For each batch, the number of rewinds of its run before it. */
  readonly rewinds: ReadonlyArray<number>
}

interface Cursor {
  readonly runId: RunId
  acked: number
  sent: number
  /** Seq of the terminal event, once it is read. */
  end: number | undefined
  /** Number of times the run went back to its last acknowledged event. */
  rewinds: number
  /** Number of those since the last acknowledgement. */
  rewindsWithoutAck: number
}

const MAX_REWINDS_WITHOUT_ACK = 3

export class PushWindow {
  private readonly log: Pick<EdgeEventLog["Service"], "read" | "isForgotten" | "endsAt">
  private readonly onEnd: (end: PushEnd) => void
  private readonly cursors = new Map<RunId, Cursor>()
  /** Runs that may have more events, in round-robin order. */
  private readonly ready = new Set<RunId>()

  constructor(log: PushWindow["log"], onEnd: (end: PushEnd) => void) {
    this.log = log
    this.onEnd = onEnd
  }

  get hasReady(): boolean {
    return this.ready.size > 0
  }

  /** Adds a run after the last seq that the Hub has. */
  addRun(runId: RunId, acked: number): void {
    if (this.cursors.has(runId)) return
    const cursor = { runId, acked, sent: acked, end: undefined, rewinds: 0, rewindsWithoutAck: 0 }
    this.cursors.set(runId, cursor)
    const isComplete = this.readUndamaged(cursor, () => this.log.endsAt(runId, acked))
    if (isComplete === true) this.finish(cursor, "complete")
    else if (isComplete === false) this.ready.add(runId)
  }

  /** Marks a run with new events in its log. */
  markReady(runId: RunId): void {
    const cursor = this.cursors.get(runId)
    if (cursor !== undefined && cursor.rewindsWithoutAck < MAX_REWINDS_WITHOUT_ACK) this.ready.add(runId)
  }

  /** Allows the pushes of a stuck run again. */
  retryStuck(runId: RunId): void {
    const cursor = this.cursors.get(runId)
    if (cursor === undefined) return
    cursor.rewindsWithoutAck = 0
    this.ready.add(runId)
  }

  /** The next push; `undefined` if there is none. */
  next(): Push | undefined {
    const batches: Array<EventBatch> = []
    const rewinds: Array<number> = []
    let events = 0
    let characters = 0
    const served = new Set<RunId>()
    for (const runId of this.ready) {
      // Each run is served once per push.
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
      // It no longer fits, so it is first in the next push.
      if (taken === 0) break
      batches.push({ runId, firstSeq: cursor.sent + 1, events: lines.slice(0, taken) })
      rewinds.push(cursor.rewinds)
      cursor.sent += taken
      served.add(runId)
      this.ready.delete(runId)
      // The log ends when a read returns nothing. The last read may have ended with a full row.
      if (cursor.sent !== cursor.end) this.ready.add(runId)
      if (events >= MAX_PUSH_EVENTS || characters >= MAX_PUSH_CHARACTERS) break
    }
    return batches.length === 0 ? undefined : { batches, rewinds }
  }

  /** Completes a push with its result. */
  complete({ batches, rewinds }: Push, acks: ReadonlyArray<PushAck>): void {
    for (const [i, batch] of batches.entries()) {
      const cursor = this.cursors.get(batch.runId)
      const ack = acks.find(({ runId }) => runId === batch.runId)
      if (cursor === undefined) continue
      if (ack !== undefined && ack.seq > cursor.acked) {
        cursor.acked = ack.seq
        cursor.sent = Math.max(cursor.sent, ack.seq)
        cursor.rewindsWithoutAck = 0
      }
      const lastSeq = batch.firstSeq + batch.events.length - 1
      if (ack?.refused === "permission_denied" || ack?.refused === "schema_validation_failed")
        this.finish(cursor, ack.refused)
      else if (cursor.end !== undefined && cursor.acked >= cursor.end) this.finish(cursor, "complete")
      // Of several rejected pushes in flight, only the first one rewinds.
      else if (cursor.acked < lastSeq && rewinds[i] === cursor.rewinds) this.rewind(cursor)
    }
  }

  private read(cursor: Cursor, budget: number): ReadonlyArray<string> {
    const batches =
      this.readUndamaged(cursor, () => this.log.read(cursor.runId, cursor.sent, Math.max(budget, 1))) ?? []
    const last = batches.at(-1)
    if (last?.terminal === true) cursor.end = last.lastSeq
    return batches.flatMap(({ lines }) => lines.split("\n"))
  }

  /** Ends the pushes of a run with a damaged log. Other runs continue. */
  private readUndamaged<A>(cursor: Cursor, read: () => A): A | undefined {
    try {
      return read()
    } catch (error) {
      if (!(error instanceof StoreDamaged)) throw error
      this.finish(cursor, "damaged")
      return undefined
    }
  }

  private rewind(cursor: Cursor): void {
    cursor.rewinds++
    cursor.sent = cursor.acked
    cursor.rewindsWithoutAck++
    if (cursor.rewindsWithoutAck < MAX_REWINDS_WITHOUT_ACK) this.ready.add(cursor.runId)
    else {
      this.ready.delete(cursor.runId)
      this.onEnd({ runId: cursor.runId, seq: cursor.acked, reason: "stuck" })
    }
  }

  private finish({ acked, runId }: Cursor, reason: PushEnd["reason"]): void {
    this.cursors.delete(runId)
    this.ready.delete(runId)
    this.onEnd({ runId, seq: acked, reason })
  }
}
