/**
 * Codec of the tables `audit`, `audit_heads` and `audit_parts`.
 *
 * Stored records decode as text, so that a record that was changed in the database reaches `verify`, which reports it. Lists decode them
 * again as records.
 */
import { AuditRecord } from "@corral/domain/access/Audit"
import { Schema } from "effect"
import { jsonColumn, storedRows } from "../store/StoredRows.ts"

const StoredAuditRow = Schema.Struct({
  id: Schema.String,
  seq: Schema.Int,
  at: Schema.String,
  actor: Schema.String,
  action: Schema.String,
  resource: Schema.String,
  outcome: Schema.String,
  code: Schema.NullOr(Schema.String),
  request_id: Schema.String,
  /** Text that is no longer JSON stays text. */
  details: Schema.NullOr(
    Schema.Union([jsonColumn(Schema.Record(Schema.String, Schema.Unknown)), Schema.String])
  ),
  chain: Schema.String,
  prev_hash: Schema.String,
  hash: Schema.String
})

export const AUDIT_COLUMNS =
  "id, seq::float8 AS seq, at, actor, action, resource, outcome, code, request_id, details, chain, prev_hash, hash"

export const storedAuditRows = storedRows("audit", StoredAuditRow)
export const auditRecordRows = storedRows("audit", AuditRecord)

/** Heads of chains: positions of the first and the last record, and the hash of the last. */
export const chainHeadRows = storedRows(
  "audit_heads, audit_parts",
  Schema.Struct({ part: Schema.Int, first: Schema.Int, seq: Schema.Int, hash: Schema.String })
)

/** A record as it is stored, changed or not. */
export type StoredAuditRecord = ReturnType<typeof storedRecordOf>

export const storedRecordOf = (row: typeof StoredAuditRow.Type) => ({
  id: row.id,
  seq: row.seq,
  at: row.at,
  actor: row.actor,
  action: row.action,
  resource: row.resource,
  outcome: row.outcome,
  code: row.code,
  requestId: row.request_id,
  projectId: row.chain === "" ? null : row.chain,
  ...(row.details === null ? {} : { details: row.details }),
  prevHash: row.prev_hash,
  hash: row.hash
})
