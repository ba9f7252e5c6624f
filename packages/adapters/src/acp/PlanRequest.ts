/**
 * Plan that an agent hands over, as its permission request for the end of its plan mode.
 *
 * Guarantees: an approval chooses the option that keeps asking for permissions. An approval that ends the run chooses nothing, so that the agent
 * begins no work: the run is cancelled next.
 */
import type * as Acp from "@agentclientprotocol/sdk"
import type { InputResponse } from "@corral/domain/run/RuntimeAdapter"
import { planTitleOf } from "../form/PlanTitle.ts"
import { defined, textOf } from "../text/Json.ts"
import type { AcpAgent } from "./AcpAgent.ts"
import type { AcpInput } from "./Elicitation.ts"
import type { PlanFile } from "./PlanFile.ts"
import { optionsOfKind, toPermissionResponse } from "./Permission.ts"
import { contentTextsOf, type ToolCall } from "./ToolCall.ts"

/** Names of tools that hand over a plan, without case, `_` and `-`. */
const PLAN_TOOLS = new Set(["exitplanmode", "planexit", "exitplan"])

const cancelled: Acp.RequestPermissionResponse = { outcome: { outcome: "cancelled" } }

const planIn = (call: ToolCall, file: PlanFile): string =>
  textOf(call.input["plan"]) ||
  contentTextsOf(call).join("\n\n") ||
  textOf(call.input["summary"]) ||
  file.planIn(call.title) ||
  call.title

/** Whether the permission request of a call hands over a plan. */
export const isPlanRequest = ({ input, kind, tool }: ToolCall): boolean =>
  PLAN_TOOLS.has(tool.replaceAll(/[_-]/g, "").toLowerCase()) ||
  (kind === "switch_mode" && typeof input["plan"] === "string")

/** The option that approves a plan; `undefined` if a person has to choose between ways to carry it out. */
const approvingOption = (options: unknown, { planApproval }: AcpAgent): string | undefined => {
  const ids = optionsOfKind(options, "allow_once").map(({ id }) => id)
  if (planApproval !== undefined && ids.includes(planApproval)) return planApproval
  return ids.length === 1 ? ids[0] : undefined
}

/** The plan of a permission request; `undefined` if the request needs a choice that a plan does not have. */
export const readPlan = (
  call: ToolCall,
  options: unknown,
  agent: AcpAgent,
  { file, isReadOnly }: { readonly file: PlanFile; readonly isReadOnly: boolean }
): AcpInput | undefined => {
  const optionId = approvingOption(options, agent)
  // In a run that only plans, an approval chooses nothing.
  if (optionId === undefined && !isReadOnly) return undefined
  const toResult = (response: InputResponse): Acp.RequestPermissionResponse => {
    if (response._tag !== "PlanApproved") return toPermissionResponse(options, "deny")
    return response.endsRun || isReadOnly || optionId === undefined
      ? cancelled
      : { outcome: { outcome: "selected", optionId } }
  }
  const { callId, parentCallId } = call
  const plan = planIn(call, file)
  const request = {
    kind: "plan",
    title: planTitleOf(plan),
    plan,
    callId,
    ...defined({ parentCallId })
  } as const
  return { request, question: { toResult, callId } }
}
