/**
 * Resolution of an approval or a question: the fields that `run.approval.resolved` or `run.input.resolved` adds to it. All stores and views use
 * these conversions.
 */
import type { Approval } from "../approval/Approval.ts"
import type { InputRequest } from "../input/InputRequest.ts"
import type { PayloadOf } from "./RunEvent.ts"

/** Fields of a resolved approval. */
export type ApprovalResolution = Pick<
  Approval,
  | "state"
  | "resolvedAt"
  | "decision"
  | "scope"
  | "origin"
  | "edited"
  | "reason"
  | "decidedBy"
  | "allowedInput"
>

/** Resolution from an event. `resolvedAt` is the time of the event, ISO 8601. */
export const approvalResolution = (
  payload: PayloadOf<"run.approval.resolved">,
  resolvedAt: string
): ApprovalResolution => {
  const { allowedInput, by, decision, edited, origin, reason, scope, state } = payload
  return {
    state,
    resolvedAt,
    ...(decision === undefined ? {} : { decision }),
    ...(scope === undefined ? {} : { scope }),
    ...(origin === undefined ? {} : { origin }),
    ...(edited === undefined ? {} : { edited }),
    ...(reason === undefined ? {} : { reason }),
    ...(by === undefined ? {} : { decidedBy: by }),
    ...(allowedInput === undefined ? {} : { allowedInput })
  }
}

/** Fields of a resolved input request. */
export type InputResolution = Pick<
  InputRequest,
  "state" | "resolvedAt" | "answers" | "approved" | "mode" | "comment" | "origin" | "answeredBy"
>

/** Resolution from an event. `resolvedAt` is the time of the event, ISO 8601. */
export const inputResolution = (
  payload: PayloadOf<"run.input.resolved">,
  resolvedAt: string
): InputResolution => {
  const { answers, approved, by, comment, mode, origin, state } = payload
  return {
    state,
    resolvedAt,
    ...(answers === undefined ? {} : { answers }),
    ...(approved === undefined ? {} : { approved }),
    ...(mode === undefined ? {} : { mode }),
    ...(comment === undefined ? {} : { comment }),
    ...(origin === undefined ? {} : { origin }),
    ...(by === undefined ? {} : { answeredBy: by })
  }
}
