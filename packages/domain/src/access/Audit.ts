/**
 * Audit trail: one hash chain of records per project, and several for records without a project.
 *
 * Guarantees: refusals and failures are recorded too. A record has metadata only, without prompts, arguments or output.
 */
import { Schema } from "effect"
import { Decision, DecisionOrigin, DecisionScope } from "../approval/Approval.ts"
import { AuditAction } from "./AuditAction.ts"
import { ApprovalId, AuditId, ProjectId, RequestId, RunId } from "../identity/Ids.ts"

/** Result of an audited action. `denied`: the caller lacks the authority. `failed`: the action failed for another reason. */
export const AuditOutcome = Schema.Literals(["allowed", "denied", "failed"])
export type AuditOutcome = typeof AuditOutcome.Type

const sha256 = Schema.String.check(
  Schema.isPattern(/^[0-9a-f]{64}$/u, { expected: "a SHA-256 in hexadecimal" })
)

/** Decision of an `approval.decide` record, or the attempted decision if it was refused. The approval has both inputs. */
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

/** One record of the audit trail. Its `hash` covers the other fields and the hash of the record before. */
export const AuditRecord = Schema.Struct({
  id: AuditId,
  /** Dense from 1 in each project. Unique among records without a project. */
  seq: Schema.Int.check(Schema.isGreaterThanOrEqualTo(1)),
  at: Schema.String,
  /** An id (`usr_…`, `dev_…`) or `system`. */
  actor: Schema.String,
  action: AuditAction,
  /** Id of the resource that the action was for. */
  resource: Schema.String,
  outcome: AuditOutcome,
  /** Error code of the refusal or failure; null if the action was allowed. */
  code: Schema.NullOr(Schema.String),
  requestId: RequestId,
  /** Null for records without a project, such as sign-ins. */
  projectId: Schema.NullOr(ProjectId),
  /** Only with `approval.decide`. Records of early versions have no details. */
  details: Schema.optionalKey(DecisionDetails),
  /** Hash of the previous record of the chain; 64 zeros for the first. */
  prevHash: sha256,
  hash: sha256
}).annotate({ identifier: "AuditRecord" })
export type AuditRecord = typeof AuditRecord.Type

/** Result of checking a chain: whether it is intact, the number of checked records, and `seq` of the first broken record. */
export const AuditVerification = Schema.Struct({
  ok: Schema.Boolean,
  checked: Schema.Int,
  brokenAtSeq: Schema.optionalKey(Schema.Int)
}).annotate({ identifier: "AuditVerification" })
export type AuditVerification = typeof AuditVerification.Type

const byName = ([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number =>
  a < b ? -1 : a > b ? 1 : 0

/** Fields of a record that its hash covers, unchecked: a stored record may have been changed. */
export type HashedAuditFields = Readonly<
  Record<Exclude<keyof AuditRecord, "details" | "hash">, string | number | null>
> & { readonly details?: object | string }

/** Hashed text of a record: a JSON array of every field except `hash`, in this order, then the details sorted by name, if there are any. */
export const auditText = (record: HashedAuditFields): string =>
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
