/** Encoder of events: the JSON text that is stored, replayed and sent. */
import { eventIds } from "@corral/domain/identity/Ids"
import { PAYLOAD_VERSION, type EventDraft, type EventStamp } from "@corral/domain/run/RunEvent"

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
