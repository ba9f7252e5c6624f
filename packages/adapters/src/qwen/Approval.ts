/** Approval for a `can_use_tool` request of Qwen Code. The runtime cannot remember decisions, so a decision applies to this run at most. */
import type { ApprovalRequest } from "@corral/domain/approval/Approval"
import type { Relative } from "../files/RelativePath.ts"
import { toToolApproval } from "../one-shot/ToolApproval.ts"
import { objectOf, textOf, type JsonObject } from "../text/Json.ts"

export const toQwenApproval = (
  request: JsonObject,
  relative: Relative,
  parentCallId?: string
): ApprovalRequest => {
  const input = objectOf(request["input"])
  return toToolApproval(
    {
      tool: textOf(request["tool_name"]) ?? "unknown",
      input,
      callId: textOf(request["tool_use_id"]),
      parentCallId,
      reason: textOf(input["description"]),
      scopes: ["once", "run"]
    },
    relative
  )
}
