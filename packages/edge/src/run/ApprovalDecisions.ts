/** Decisions on pending approvals. The first valid decision wins; later ones are refused with the state of the approval. */
import type { ApprovalRequest } from "@corral/domain/approval/Approval"
import { inputChanges } from "@corral/domain/approval/InputEdit"
import {
  ApprovalAlreadyResolved,
  ApprovalExpired,
  NotFound,
  SchemaValidationFailed
} from "@corral/domain/errors/Failures"
import type { ApprovalId } from "@corral/domain/identity/Ids"
import type { InputEdit, RefusalCode } from "@corral/domain/run/RunMachine"
import type { ApprovalAnswer } from "@corral/domain/run/RuntimeAdapter"
import type { KernelState } from "./KernelState.ts"
import type { OutputRedaction } from "./OutputRedaction.ts"
import type { DecideFailure, RunMessageOf } from "./RunMessage.ts"

export const applyDecision = (kernel: KernelState, message: RunMessageOf<"Decide">): void => {
  const { approvals, policy, recorder, redaction, turn } = kernel
  const { approvalId, by, origin, reply } = message
  const isPending = recorder.state.pending.has(approvalId)
  const assessed = isPending ? approvals.get(approvalId)?.assessed : undefined
  if (assessed !== undefined && message.answer.updatedInput !== undefined && !assessed.request.editable)
    return turn.fail(reply, notEditable())
  const answer = assessed === undefined ? message.answer : policy.narrowed(assessed, message.answer)
  const edit = assessed === undefined ? undefined : editOf(assessed.request, answer, redaction)
  const actions = recorder.apply({ _tag: "ApprovalDecided", approvalId, answer, by, origin, edit })
  const refusal = actions.find((action) => action._tag === "Refuse")
  if (refusal === undefined) {
    if (assessed !== undefined)
      recorder.addRows(policy.remember(assessed, answer, { approvalId, by, nowMs: kernel.nowMs }))
    kernel.act(actions)
    turn.succeed(reply, undefined)
  } else {
    const state = recorder.state.resolved.get(approvalId)?.state ?? "cancelled"
    turn.fail(reply, refusalOf(refusal.code, approvalId, state))
  }
}

/** The edit as the log shows it: the runtime receives the allowed input whole, readers receive it without secrets. */
const editOf = (
  { input }: ApprovalRequest,
  { decision, updatedInput }: ApprovalAnswer,
  redaction: OutputRedaction
): InputEdit | undefined => {
  if (decision !== "allow" || updatedInput === undefined) return undefined
  if (inputChanges(input, updatedInput).length === 0) return undefined
  return { requestedInput: redaction.value(input), allowedInput: redaction.value(updatedInput) }
}

/** The runtime would run its own input and ignore the edit. */
const notEditable = () => {
  const message = "This action is allowed or denied as it is."
  return new SchemaValidationFailed({ details: { issues: [{ path: "updatedInput", message }] } })
}

const refusalOf = (
  code: RefusalCode,
  approvalId: ApprovalId,
  state: "approved" | "denied" | "expired" | "cancelled"
): DecideFailure => {
  switch (code) {
    case "approval_already_resolved":
      return new ApprovalAlreadyResolved({ details: { approvalId, state } })
    case "approval_expired":
      return new ApprovalExpired({ details: { approvalId, state } })
    default:
      return new NotFound()
  }
}
