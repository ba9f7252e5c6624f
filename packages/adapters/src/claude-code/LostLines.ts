/**
 * What a line over the limit still allows, for Claude Code and for Qwen Code, which prints the same frames: a request is declined, a call is
 * opened or closed, a turn ends without its text. The program or a reader would wait for it otherwise.
 *
 * Guarantees: a declined request receives no choice.
 */
import { LOST_REQUEST } from "../output/LostOutput.ts"
import { arrayOf, isJsonObject, objectOf, textOf, type JsonObject } from "../text/Json.ts"
import { declinedForm } from "./ClaudeForm.ts"
import { controlRefusal, controlResponse } from "./Frames.ts"

/** Type of the line. In a result it follows the text, which may be the long value. */
export const typeOfLost = (head: JsonObject): string | undefined =>
  textOf(head["type"]) ?? ("is_error" in head && "num_turns" in head ? "result" : undefined)

/** The response to a request; `undefined` without its id. */
export const declineLostRequest = (head: JsonObject): string | undefined => {
  const key = textOf(head["request_id"])
  if (key === undefined) return undefined
  switch (objectOf(head["request"])["subtype"]) {
    case "can_use_tool":
      return controlResponse(key, { behavior: "deny", message: LOST_REQUEST })
    case "elicitation":
      return controlResponse(key, declinedForm)
    default:
      return controlRefusal(key, LOST_REQUEST)
  }
}

const blocksOf = (head: JsonObject, type: string): ReadonlyArray<JsonObject> =>
  arrayOf(objectOf(head["message"])["content"])
    .filter(isJsonObject)
    .filter((block) => block["type"] === type)

/** Calls of the line, with the fields of their inputs that are whole. */
export const lostCalls = (head: JsonObject): ReadonlyArray<JsonObject> => blocksOf(head, "tool_use")

/** Ids of the calls whose results the line has. */
export const lostResults = (head: JsonObject): ReadonlyArray<string> =>
  blocksOf(head, "tool_result").flatMap((block) => textOf(block["tool_use_id"]) ?? [])
