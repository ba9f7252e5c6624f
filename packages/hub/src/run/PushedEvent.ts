/**
 * One event as an Edge pushes it: JSON text that is stored, replayed and sent as it came. Before that it must be the event it claims to
 * be: a closed envelope with its run's id, its place in the log and the event id that follows from both.
 *
 * Payloads are let be: what this build does not know is kept for readers that do.
 */
import type { EventId, RunId } from "@corral/domain/identity/Ids"
import { type Envelope, MAX_PAYLOAD_BYTES } from "@corral/domain/run/RunEvent"

/** Characters of a whole event. The payload's limit is one of bytes, of which a character takes one at least. */
const MAX_TEXT = MAX_PAYLOAD_BYTES + 4_096

const fields = new Set(["id", "seq", "type", "runId", "sessionId", "agentId", "createdAt", "payload"])
const isoTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z$/

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const isText = (value: unknown): boolean => value === undefined || typeof value === "string"

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The event, or `undefined` where the text is something else. */
export const decodePushedEvent = (
  text: string,
  runId: RunId,
  seq: number,
  id: EventId
): Envelope | undefined => {
  // A line break is JSON between tokens; a log has a line an event.
  if (text.length > MAX_TEXT || text.includes("\n") || text.includes("\r")) return undefined
  const value = parsed(text)
  if (!isObject(value)) return undefined
  const fits =
    value["id"] === id &&
    value["seq"] === seq &&
    value["runId"] === runId &&
    typeof value["type"] === "string" &&
    typeof value["createdAt"] === "string" &&
    isoTime.test(value["createdAt"]) &&
    isText(value["sessionId"]) &&
    isText(value["agentId"]) &&
    isObject(value["payload"]) &&
    Object.keys(value).every((name) => fields.has(name))
  // Every field has just been looked at.
  return fits ? (value as unknown as Envelope) : undefined
}
