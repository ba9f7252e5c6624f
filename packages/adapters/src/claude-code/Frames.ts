/**
 * Lines that Claude Code reads: user messages, our requests, our responses. Also what a line over the limit still allows.
 */
import type { RunImage } from "@corral/domain/run/RuntimeAdapter"
import { LOST_REQUEST } from "../text/JsonLines.ts"
import { type JsonObject, arrayOf, isJsonObject, objectOf, textOf } from "../text/Json.ts"
import { declined } from "../form/Elicitation.ts"

// What a line over the limit still allows, for Claude Code and for Qwen Code, which prints the same frames: a request is declined, a call is
// opened or closed, a turn ends without its text. The program or a reader would wait for it otherwise.
//
// Guarantees: a declined request receives no choice.

/** What a reader does with the parts of a line over the limit. */
interface LostLine {
  readonly reply: (text: string) => void
  /** Opens a call, with the fields of its input that are whole. */
  readonly open: (call: JsonObject, parentCallId: string | undefined) => void
  readonly close: (callId: string) => void
  readonly result: (head: JsonObject) => void
  readonly system?: (head: JsonObject) => void
}

/** Type of the line. In a result it follows the text, which may be the long value. */
const typeOfLost = (head: JsonObject): string | undefined =>
  textOf(head["type"]) ?? ("is_error" in head && "num_turns" in head ? "result" : undefined)

/** The response to a request; `undefined` without its id. */
const declineLostRequest = (head: JsonObject): string | undefined => {
  const key = textOf(head["request_id"])
  if (key === undefined) return undefined
  switch (objectOf(head["request"])["subtype"]) {
    case "can_use_tool":
      return controlResponse(key, { behavior: "deny", message: LOST_REQUEST })
    case "elicitation":
      return controlResponse(key, declined)
    default:
      return controlRefusal(key, LOST_REQUEST)
  }
}

const blocksOf = (head: JsonObject, type: string): ReadonlyArray<JsonObject> =>
  arrayOf(objectOf(head["message"])["content"])
    .filter(isJsonObject)
    .filter((block) => block["type"] === type)

/** Reads a line over the limit, of which only the first fields are known. */
export const readLostLine = (head: JsonObject, { close, open, reply, result, system }: LostLine): void => {
  switch (typeOfLost(head)) {
    case "control_request": {
      const text = declineLostRequest(head)
      return text === undefined ? undefined : reply(text)
    }
    case "assistant":
      for (const call of blocksOf(head, "tool_use")) open(call, textOf(head["parent_tool_use_id"]))
      return
    case "user":
      for (const block of blocksOf(head, "tool_result")) {
        const callId = textOf(block["tool_use_id"])
        if (callId !== undefined) close(callId)
      }
      return
    case "result":
      return result(head)
    case "system":
      return system?.(head)
  }
}

const line = (value: object): string => `${JSON.stringify(value)}\n`

const toBlock = ({ base64, mediaType }: RunImage) => ({
  type: "image",
  source: { type: "base64", media_type: mediaType, data: base64 }
})

export const userMessage = (text: string, images: ReadonlyArray<RunImage> = []): string => {
  const content = images.length === 0 ? text : [{ type: "text", text }, ...images.map(toBlock)]
  return line({ type: "user", message: { role: "user", content }, parent_tool_use_id: null, session_id: "" })
}

export const controlRequest = (requestId: string, subtype: "initialize" | "interrupt"): string =>
  line({
    type: "control_request",
    request_id: requestId,
    request: subtype === "initialize" ? { subtype, hooks: null } : { subtype }
  })

export const controlResponse = (requestId: string, response: object): string =>
  line({ type: "control_response", response: { subtype: "success", request_id: requestId, response } })

/** Error response to an unsupported request. */
export const controlRefusal = (requestId: string, error: string): string =>
  line({ type: "control_response", response: { subtype: "error", request_id: requestId, error } })
