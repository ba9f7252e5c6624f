/** One run during a push: its locked row, the events that are accepted, and the state that follows from them. Synchronous. */
import { eventIds, type MessageId } from "@corral/domain/identity/Ids"
import type { Envelope } from "@corral/domain/run/RunEvent"
import type { EventBatch } from "@corral/domain/link/EdgeLink"
import type { LogBatch } from "@corral/service/stream/LogSource"
import { MirroredRun } from "./MirroredRun.ts"
import { decodePushedEvent } from "./PushedEvent.ts"
import type { LockedRunRow } from "./RunRow.ts"

/** `unknown`: the target has no such run. `gap`: earlier events are missing. `broken`: not events, or they can't follow the log. */
export type PushRefusal = "unknown" | "gap" | "broken"

/** Characters of one stored batch, unless a single event is larger. */
const BATCH_TEXT = 65_536

export class PushedRun {
  readonly row: LockedRunRow
  readonly mirror: MirroredRun
  readonly batches: Array<LogBatch> = []
  /** Messages of users in these events. */
  readonly inputs: Array<MessageId> = []
  lastSeq: number
  /** Whether its target has pushed batches, with new events or not. */
  isPushed = false
  refusal: PushRefusal | undefined
  private readonly idOf: ReturnType<typeof eventIds>

  constructor(row: LockedRunRow) {
    this.row = row
    this.lastSeq = row.last_seq
    this.idOf = eventIds(row.id)
    // A log without events decides nothing yet, even after the Hub failed the run because its start was not answered.
    const initial = { state: "queued", told: {} } as const
    this.mirror = new MirroredRun({ ...row, ...row.offer, ...(row.last_seq === 0 ? initial : {}) })
  }

  /** Accepts the events that follow the log and skips those that it already has. A batch after a gap is refused, the batches after it are not. */
  push({ events, firstSeq }: EventBatch): void {
    this.isPushed = true
    if (this.refusal === "broken") return
    // What is missing may come later, also in the same transaction.
    if (firstSeq > this.lastSeq + 1) {
      this.refusal = "gap"
      return
    }
    for (const text of events.slice(this.lastSeq + 1 - firstSeq)) {
      const seq = this.lastSeq + 1
      const event = decodePushedEvent(text, this.row.id, seq, this.idOf(seq))
      if (event === undefined || !this.mirror.apply(event)) {
        this.refusal = "broken"
        return
      }
      this.lastSeq = seq
      const input = inputOf(event)
      if (input !== undefined) this.inputs.push(input)
      this.append(seq, text)
    }
  }

  /** State of the run's task; `undefined` before the run has started. */
  get taskState(): string | undefined {
    const { isEnded, isStarted, state } = this.mirror
    return isEnded ? state : isStarted ? "running" : undefined
  }

  private append(seq: number, text: string): void {
    const last = this.batches.at(-1)
    const terminal = this.mirror.isEnded
    const batch = { runId: this.row.id, firstSeq: seq, lastSeq: seq, lines: text, terminal }
    if (last === undefined || last.lines.length + text.length > BATCH_TEXT) this.batches.push(batch)
    else
      this.batches[this.batches.length - 1] = {
        ...batch,
        firstSeq: last.firstSeq,
        lines: `${last.lines}\n${text}`
      }
  }
}

/** The id of the user's message that the event logs. */
const inputOf = ({ payload, type }: Envelope): MessageId | undefined =>
  type === "run.message.completed" && payload["role"] === "user" && typeof payload["messageId"] === "string"
    ? // Only compared with ids of messages.
      (payload["messageId"] as MessageId)
    : undefined
