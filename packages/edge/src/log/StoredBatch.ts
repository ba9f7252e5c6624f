/**
 * Events of a run in the order of their `seq`: new ones, batches as they are stored, and the encoder of the JSON text that is stored, replayed and
 * sent.
 */
import { eventIds, type RunId } from "@corral/domain/identity/Ids"
import { type EventDraft, type EventStamp, PAYLOAD_VERSION } from "@corral/domain/run/RunEvent"

/** Events to append, as JSON lines without a final newline. They are one text, so that the single lines do not live until the commit. */
export interface NewEvents {
  readonly runId: RunId
  readonly firstSeq: number
  readonly count: number
  readonly lines: string
  readonly terminal: boolean
  /** Outputs of the runtime that the run has applied with these events; only of a run that outlives its Edge. */
  readonly outputs?: number | undefined
}

/** Events of one append, as JSON lines without a final newline. All readers that are up to date share the object. */
export interface StoredBatch {
  /** Position among the batches of all runs. 0 on a batch that was just appended. */
  readonly batch: number
  readonly runId: RunId
  readonly firstSeq: number
  readonly lastSeq: number
  readonly lines: string
  /** The lines in UTF-8, if they were encoded for the checksum. Frames contain them. */
  readonly bytes?: Buffer
  /** Whether the batch has the last event of its run. */
  readonly terminal: boolean
}

/** The part of a batch after the event `after`. */
export const cutBefore = (
  { batch, firstSeq, lastSeq, lines, runId, terminal }: StoredBatch,
  after: number
): StoredBatch => ({
  batch,
  runId,
  firstSeq: after + 1,
  lastSeq,
  lines: lines
    .split("\n")
    .slice(after + 1 - firstSeq)
    .join("\n"),
  terminal
})

/** An encoder for one run: the parts that are the same for all its events, or for the events of a batch, are encoded once. */
export const makeEventEncoder = (
  stamp: EventStamp
): ((seq: number, createdAt: string, event: EventDraft) => string) => {
  const id = eventIds(stamp.runId)
  const middleOf = cachedMiddle(stamp)
  return (seq, createdAt, event) => {
    const payload = JSON.stringify(event.payload)
    const fields = payload === "{}" ? "}" : `,${payload.slice(1)}`
    return `{"id":"${id(seq)}","seq":${seq}${middleOf(event.type, createdAt)}${fields}}`
  }
}

/** What stands between the `seq` and the first field of the payload. Kept for the next event, which usually has the same type and time. */
const cachedMiddle = ({ agentId, runId, sessionId }: EventStamp) => {
  const session = sessionId === undefined ? "" : `,"sessionId":${JSON.stringify(sessionId)}`
  const agent = agentId === undefined ? "" : `,"agentId":${JSON.stringify(agentId)}`
  const stamped = `,"runId":"${runId}"${session}${agent},"createdAt":"`
  let last = { type: "", createdAt: "", middle: "" }
  return (type: string, createdAt: string): string => {
    if (last.type === type && last.createdAt === createdAt) return last.middle
    const middle = `,"type":"${type}"${stamped}${createdAt}","payload":{"v":${PAYLOAD_VERSION}`
    last = { type, createdAt, middle: flat(middle) }
    return last.middle
  }
}

/** The same text in one piece. Node keeps a concatenation as its parts until a character is read, and copies each part with every event. */
const flat = (text: string): string => {
  text.charCodeAt(0)
  return text
}
