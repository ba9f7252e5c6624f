/** Codec of the table `approval_cards`. */
import { ApprovalState } from "@corral/domain/approval/Approval"
import { ApprovalId, TaskId } from "@corral/domain/identity/Ids"
import { Schema } from "effect"
import { ApprovalSummary } from "./ApprovalCard.ts"

export interface StoredApprovalCard {
  readonly approvalId: ApprovalId
  readonly taskId: TaskId
  readonly summary: ApprovalSummary
  /** The message of the card, once it is sent. */
  readonly messageId: string | undefined
  readonly state: ApprovalState
}

const StoredSummary = Schema.fromJsonString(ApprovalSummary)

export const encodeSummary = Schema.encodeSync(StoredSummary)

export const ApprovalCardRow = Schema.Struct({
  approval_id: ApprovalId,
  task_id: TaskId,
  asked: StoredSummary,
  message_id: Schema.NullOr(Schema.String),
  state: ApprovalState
})

export const approvalCardOf = (row: typeof ApprovalCardRow.Type): StoredApprovalCard => ({
  approvalId: row.approval_id,
  taskId: row.task_id,
  summary: row.asked,
  messageId: row.message_id ?? undefined,
  state: row.state
})
