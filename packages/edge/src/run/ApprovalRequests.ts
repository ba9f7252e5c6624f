/** Approval requests of a runtime or a connection: assessed, recorded, and answered immediately if the policy decides them. */
import type { ApprovalRequest } from "@corral/domain/approval/Approval"
import type { ApprovalId } from "@corral/domain/identity/Ids"
import type { ApprovalAnswer } from "@corral/domain/run/RuntimeAdapter"
import { mint } from "@corral/service/Identifiers"
import type { ApprovalAsker } from "../approval/PendingRequests.ts"
import type { PolicyVerdict } from "../approval/Policy.ts"
import { limitRequestSize } from "../approval/RequestSize.ts"
import type { AssessedRequest, RunPolicy } from "../approval/RunPolicy.ts"
import { type BatchState, isoTime } from "./BatchState.ts"
import type { OutputRedaction } from "./OutputRedaction.ts"

/** Reads a request. One that is not shown completely is neither edited nor remembered: the policy decides it each time. */
export const assessRequest = (
  policy: RunPolicy,
  redaction: OutputRedaction,
  requested: ApprovalRequest
): {
  readonly assessed: AssessedRequest
  readonly isWhole: boolean
  readonly refusal: string | undefined
} => {
  const { isWhole, refusal, request } = limitRequestSize(requested)
  const redacted = redaction.value(request)
  const assessed = policy.assess(
    isWhole && redacted === request ? request : { ...request, scopes: ["once"], editable: false },
    redacted
  )
  return { assessed, isWhole, refusal }
}

export const requestApproval = (
  batch: BatchState,
  asker: ApprovalAsker,
  requested: ApprovalRequest
): void => {
  const { approvals, approvalMs, journal, policy, recorder, redaction } = batch.context
  const approvalId = mint<ApprovalId>("apr", batch.nowMs)
  const { assessed, isWhole, refusal } = assessRequest(policy, redaction, requested)
  batch.approvalCost += costOf(requested, assessed)
  const expiresMs = batch.nowMs + approvalMs
  const expiresAt = isoTime(expiresMs)
  approvals.add(approvalId, asker, assessed, expiresMs)
  const isFromEdge = asker._tag === "Connection"
  batch.apply({ _tag: "ApprovalRequested", approvalId, request: assessed.shown, expiresAt, isFromEdge })
  if (journal !== undefined && recorder.state.pending.has(approvalId))
    recorder.addRows([
      journal.request(approvalId, asker._tag === "Runtime" ? asker : { connection: asker.address })
    ])
  const verdict = withSizeLimit(policy.judge(assessed, isWhole), refusal)
  if (verdict._tag === "Ask") return
  if (verdict.by === "policy:confined") approvals.allowNoChanges(approvalId)
  const answer: ApprovalAnswer =
    verdict._tag === "Allow"
      ? { decision: "allow", scope: "once" }
      : { decision: "deny", scope: "once", reason: verdict.reason }
  batch.apply({ _tag: "ApprovalDecided", approvalId, answer, by: verdict.by, origin: "policy" })
}

/** Denies a request that is too large to show. */
const withSizeLimit = (verdict: PolicyVerdict, refusal: string | undefined): PolicyVerdict =>
  verdict._tag === "Ask" && refusal !== undefined
    ? { _tag: "Deny", by: "policy:size", reason: refusal }
    : verdict

/** A long command takes longer to read, and so does one that names many files. */
const costOf = ({ command = "" }: ApprovalRequest, { lookups }: AssessedRequest): number =>
  1 + Math.floor(command.length / 2_048) + Math.floor(lookups / 512)
