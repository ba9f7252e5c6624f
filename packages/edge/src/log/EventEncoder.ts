/** Encoder of events: the JSON text that is stored, replayed and sent. */
import { eventIds } from "@corral/domain/identity/Ids"
import { PAYLOAD_VERSION, type EventDraft, type EventStamp } from "@corral/domain/run/RunEvent"

/** An encoder for one run: the parts that are the same for all its events are encoded once. */
export const makeEventEncoder = (
  stamp: EventStamp
): ((seq: number, createdAt: string, event: EventDraft) => string) => {
  const session = stamp.sessionId === undefined ? "" : `,"sessionId":${JSON.stringify(stamp.sessionId)}`
  const agent = stamp.agentId === undefined ? "" : `,"agentId":${JSON.stringify(stamp.agentId)}`
  const id = eventIds(stamp.runId)
  const middle = `,"runId":"${stamp.runId}"${session}${agent},"createdAt":"`
  return (seq, createdAt, event) => {
    const payload = JSON.stringify(event.payload)
    const body = payload === "{}" ? `{"v":${PAYLOAD_VERSION}}` : `{"v":${PAYLOAD_VERSION},${payload.slice(1)}`
    return `{"id":"${id(seq)}","seq":${seq},"type":"${event.type}"${middle}${createdAt}","payload":${body}}`
  }
}
