/**
 * What a line over the limit still allows: a request is declined, and a call is closed, because Codex or a reader would wait for it otherwise.
 */
import { LOST_REQUEST, LOST_RESULT } from "../output/LostOutput.ts"
import type { JsonObject } from "../text/Json.ts"
import { codexRefusal, codexResponse, type CodexRequestId } from "./Frames.ts"
import { unansweredResult } from "./Questions.ts"

/** The response to a request that no one has seen. */
export const declineLost = (id: CodexRequestId, method: string): string => {
  const result = method.endsWith("/requestApproval") ? declinedApproval(method) : unansweredResult(method)
  return result === undefined ? codexRefusal(id, LOST_REQUEST) : codexResponse(id, result)
}

const declinedApproval = (method: string): object =>
  method === "item/permissions/requestApproval" ? { permissions: {}, scope: "turn" } : { decision: "decline" }

/** An item of which only the first fields are known. An incomplete list of changes counts as unknown. */
export const lostItem = (item: JsonObject): JsonObject => ({
  ...item,
  changes: undefined,
  aggregatedOutput: LOST_RESULT
})
