/**
 * The audit trail: one hash chain per project, refusals and failures included. Metadata only: no prompt, no argument, no output.
 */
import { Schema } from "effect"
import { Decision, DecisionOrigin, DecisionScope } from "../approval/Approval.ts"
import { AuditAction } from "./AuditAction.ts"
import { ApprovalId, AuditId, ProjectId, RequestId, RunId } from "../identity/Ids.ts"

export const AuditOutcome = Schema.Literals(["allowed", "denied", "failed"])
export type AuditOutcome = typeof AuditOutcome.Type

const sha256 = Schema.String.check(
  Schema.isPattern(/^[0-9a-f]{64}$/u, { expected: "a SHA-256 in hexadecimal" })
)

/** The decision of an `approval.decide`; where it was refused, the decision that was tried. The approval has both inputs. */
export const DecisionDetails = Schema.Struct({
  decision: Decision,
  scope: DecisionScope,
  /** Whether an edited input was allowed instead of the requested one. */
  edited: Schema.Boolean,
  origin: DecisionOrigin,
  runId: RunId,
  approvalId: ApprovalId
}).annotate({ identifier: "DecisionDetails" })
export type DecisionDetails = typeof DecisionDetails.Type

export const AuditRecord = Schema.Struct({
  id: AuditId,
  /** Dense from 1 in each project. */
  seq: Schema.Int.check(Schema.isGreaterThanOrEqualTo(1)),
  at: Schema.String,
  /** An id (`usr_…`, `dev_…`) or `system`. */
  actor: Schema.String,
  action: AuditAction,
  /** The id of what was acted on. */
  resource: Schema.String,
  outcome: AuditOutcome,
  /** The code of the refusal or failure; null where it was allowed. */
  code: Schema.NullOr(Schema.String),
  requestId: RequestId,
  /** Null for what belongs to no project, such as sign-ins. */
  projectId: Schema.NullOr(ProjectId),
  /** Only with `approval.decide`, and not in records of versions that kept none. */
  details: Schema.optionalKey(DecisionDetails),
  /** Hash of the record before; 64 zeros for the first. */
  prevHash: sha256,
  hash: sha256
}).annotate({ identifier: "AuditRecord" })
export type AuditRecord = typeof AuditRecord.Type

/** Whether a chain is whole, and the first record that does not fit where it is not. */
export const AuditVerification = Schema.Struct({
  ok: Schema.Boolean,
  checked: Schema.Int,
  brokenAtSeq: Schema.optionalKey(Schema.Int)
}).annotate({ identifier: "AuditVerification" })
export type AuditVerification = typeof AuditVerification.Type

const byName = ([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number =>
  a < b ? -1 : a > b ? 1 : 0

/** The text that is hashed: every field but `hash`, in this order; then the details, where there are any, sorted by name. */
export const auditText = (record: Omit<AuditRecord, "hash">): string =>
  JSON.stringify([
    record.id,
    record.seq,
    record.at,
    record.actor,
    record.action,
    record.resource,
    record.outcome,
    record.code,
    record.requestId,
    record.projectId,
    record.prevHash,
    ...(record.details === undefined ? [] : [Object.entries(record.details).sort(byName)])
  ])
