/**
 * One run during a push: its locked row, the events that are accepted, and the state that follows from them. Synchronous.
 *
 * Guarantees: an accepted envelope has no unknown fields, and its run id, `seq` and event id belong to the expected position. Its text stays unchanged.
 * Does not check payloads: types that this build does not support stay readable for clients that do.
 */
import { type EventId, type MessageId, type RunId, eventIds } from "@corral/domain/identity/Ids"
import type { EventBatch } from "@corral/domain/link/EdgeLink"
import { type Envelope, MAX_PAYLOAD_BYTES } from "@corral/domain/run/RunEvent"
import { isJsonObject } from "@corral/domain/text/JsonObject"
import type { LogBatch } from "@corral/service/stream/LogSource"
import { MirroredRun } from "./MirroredRun.ts"
import type { LockedRunRow } from "./Runs.ts"

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

/** Characters of a whole event. The payload limit counts bytes, and a character takes at least one. */
const MAX_TEXT = MAX_PAYLOAD_BYTES + 4_096

const fields = new Set(["id", "seq", "type", "runId", "sessionId", "agentId", "createdAt", "payload"])
const isoTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z$/

const isText = (value: unknown): boolean => value === undefined || typeof value === "string"

const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The event, or `undefined` if the text is not the expected event. */
const decodePushedEvent = (text: string, runId: RunId, seq: number, id: EventId): Envelope | undefined => {
  // JSON allows line breaks between tokens, but a log stores one event per line.
  if (text.length > MAX_TEXT || text.includes("\n") || text.includes("\r")) return undefined
  const value = parseJson(text)
  if (!isJsonObject(value)) return undefined
  const isExpected =
    value["id"] === id &&
    value["seq"] === seq &&
    value["runId"] === runId &&
    typeof value["type"] === "string" &&
    typeof value["createdAt"] === "string" &&
    isoTime.test(value["createdAt"]) &&
    isText(value["sessionId"]) &&
    isText(value["agentId"]) &&
    isJsonObject(value["payload"]) &&
    Object.keys(value).every((name) => fields.has(name))
  // Every field has just been checked.
  return isExpected ? (value as unknown as Envelope) : undefined
}
