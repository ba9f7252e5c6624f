/** A decision or an answer that arrives after its approval or its question was resolved. */
import type { Approval } from "@corral/domain/approval/Approval"
import {
  ApprovalAlreadyResolved,
  ApprovalExpired,
  InputAlreadyResolved,
  InputExpired,
  Overloaded
} from "@corral/domain/errors/Failures"
import type { ApprovalAnswer } from "@corral/domain/run/RuntimeAdapter"
import { Effect } from "effect"
import type { InputRequest } from "@corral/domain/input/InputRequest"

/** The refusal, with the state of the question and the name of the person who answered. */
export const lateAnswerRefusal = ({
  answeredBy,
  id: inputId,
  state
}: InputRequest): InputAlreadyResolved | InputExpired | Overloaded => {
  // The run has stopped, but its end is not stored yet.
  if (state === "pending") return new Overloaded({ details: { reason: "store_failed" } })
  const details = { inputId, state, ...(answeredBy === undefined ? {} : { answeredBy }) }
  return state === "expired" ? new InputExpired({ details }) : new InputAlreadyResolved({ details })
}

/** Accepts the same decision again; refuses another one with the state of the approval. */
export const repeatDecision = (
  approval: Approval,
  answer: ApprovalAnswer
): Effect.Effect<Approval, ApprovalAlreadyResolved | ApprovalExpired | Overloaded> => {
  const wanted = { allow: "approved", deny: "denied", cancel: "cancelled" }[answer.decision]
  const isEdited = answer.updatedInput !== undefined || approval.edited === true
  if (approval.state === wanted && !isEdited) return Effect.succeed(approval)
  // The run has stopped, but its end is not stored yet.
  if (approval.state === "pending")
    return Effect.fail(new Overloaded({ details: { reason: "store_failed" } }))
  const details = { approvalId: approval.id, state: approval.state }
  return Effect.fail(
    approval.state === "expired" ? new ApprovalExpired({ details }) : new ApprovalAlreadyResolved({ details })
  )
}
