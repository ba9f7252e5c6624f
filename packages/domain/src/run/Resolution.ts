/**
 * The end of an approval as its event tells it: the fields that the event adds to the approval. Every store and every view takes them from
 * here, so that none of them forgets one.
 */
import type { Approval } from "../approval/Approval.ts"
import type { PayloadOf } from "./RunEvent.ts"

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

/** `resolvedAt` is the time of the event, ISO 8601. */
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
