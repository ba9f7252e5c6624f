/**
 * Resolution of an approval: the fields that `run.approval.resolved` adds to the approval. All stores and views use this conversion.
 */
import type { Approval } from "../approval/Approval.ts"
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
