/** Codec of the table `approval_cards`. */
import { ApprovalState } from "@corral/domain/approval/Approval"
import { ApprovalId } from "@corral/domain/identity/Ids"
import { Schema } from "effect"
import { ApprovalSummary } from "./ApprovalCard.ts"
import { FollowId } from "./FollowRow.ts"

export interface StoredApprovalCard {
  readonly approvalId: ApprovalId
  readonly followId: FollowId
  readonly summary: ApprovalSummary
  /** The message of the card, once it is sent. */
  readonly messageId: string | undefined
  readonly state: ApprovalState
}

const StoredSummary = Schema.fromJsonString(ApprovalSummary)

export const encodeSummary = Schema.encodeSync(StoredSummary)

export const ApprovalCardRow = Schema.Struct({
  approval_id: ApprovalId,
  follow_id: FollowId,
  asked: StoredSummary,
  message_id: Schema.NullOr(Schema.String),
  state: ApprovalState
})

export const approvalCardOf = (row: typeof ApprovalCardRow.Type): StoredApprovalCard => ({
  approvalId: row.approval_id,
  followId: row.follow_id,
  summary: row.asked,
  messageId: row.message_id ?? undefined,
  state: row.state
})
