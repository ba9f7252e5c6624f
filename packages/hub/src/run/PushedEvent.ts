/**
 * Decoding of one pushed event. Its JSON text is stored, replayed and sent unchanged.
 *
 * Guarantees: the envelope has no unknown fields, and its run id, `seq` and event id belong to the expected position.
 * Does not check payloads: types that this build does not support stay readable for clients that do.
 */
import { isJsonObject } from "@corral/domain/text/JsonObject"
import type { EventId, RunId } from "@corral/domain/identity/Ids"
import { type Envelope, MAX_PAYLOAD_BYTES } from "@corral/domain/run/RunEvent"

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
export const decodePushedEvent = (
  text: string,
  runId: RunId,
  seq: number,
  id: EventId
): Envelope | undefined => {
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
