/**
 * Report of a line over the limit: the call that it is about, with a text for its content. Its reader would wait for the result otherwise.
 *
 * Does not: read an incomplete list of steps, or a part of a message.
 */
import type * as Acp from "@agentclientprotocol/sdk"
import { LOST_RESULT } from "../output/LostOutput.ts"
import { objectOf, type JsonObject } from "../text/Json.ts"
import type { UnverifiedFields } from "./UnverifiedFields.ts"

const content = [{ type: "content", content: { type: "text", text: LOST_RESULT } }]

/** The report with the fields that are whole; `undefined` if it is not about a call. */
export const lostReport = (params: JsonObject): JsonObject | undefined => {
  const { update }: UnverifiedFields<Acp.SessionNotification> = params
  const { rawOutput: _, ...report } = objectOf(update)
  switch (report["sessionUpdate"]) {
    case "tool_call":
    case "tool_call_update":
      return { ...params, update: { ...report, content } }
    default:
      return undefined
  }
}
