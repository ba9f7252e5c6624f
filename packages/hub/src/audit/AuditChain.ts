/**
 * Chains of the audit trail: one per project, and one for records without a project. Each record contains the hash of the record before it.
 *
 * Guarantees: records of one chain are added one after the other, also by several Hubs.
 */
import {
  type AuditOutcome,
  auditText,
  type DecisionDetails,
  type HashedAuditFields
} from "@corral/domain/access/Audit"
import type { AuditAction } from "@corral/domain/access/AuditAction"
import type { AuditId, ProjectId, RequestId } from "@corral/domain/identity/Ids"
import { mint } from "@corral/service/Identifiers"
import { Effect } from "effect"
import type { SqlClient, Statement } from "effect/sql"
import { createHash, randomBytes } from "node:crypto"

/** An action on a resource, done or tried. */
export interface AuditedAction {
  readonly action: AuditAction
  /** Id of the resource. */
  readonly resource: string
  readonly projectId: ProjectId | null
  readonly details?: DecisionDetails | undefined
}

export interface AuditEntry extends AuditedAction {
  readonly actor: string
  readonly outcome: AuditOutcome
  readonly code: string | null
  readonly requestId: RequestId
}

/** `prevHash` of the first record. */
export const GENESIS_HASH = "0".repeat(64)

/** The hash that a record must have. */
export const auditRecordHash = (record: HashedAuditFields): string =>
  createHash("sha256").update(auditText(record)).digest("hex")

/**
 * Appends the entry to its chain, as part of the caller's transaction where there is one. `nowMs` in Unix milliseconds, for the id.
 *
 * One statement: the database locks the head of the chain and completes the hashed text with the position, the time and the hash that it
 * finds there. The time is the database's, and never before that of the record before it, so lists by time have the order of the chain.
 */
export const appendRecord = (sql: SqlClient.SqlClient, entry: AuditEntry, nowMs: () => number) =>
  Effect.suspend(() => {
    const chain = entry.projectId ?? ""
    const { details, ...fields } = entry
    const record = { ...fields, id: mint<AuditId>("aud", nowMs()) }
    const [start, beforeTime, beforeHash, end] = fixedText(
      details === undefined ? record : { ...record, details }
    )
    const isoOf = (at: Statement.Fragment) =>
      sql`to_char((${at}) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`
    const hashAfter = (seq: Statement.Fragment, at: Statement.Fragment, prevHash: Statement.Fragment) =>
      sql`encode(sha256(convert_to(${start} || (${seq})::text || ${beforeTime} || ${isoOf(at)} || ${beforeHash} || ${prevHash} || ${end}, 'UTF8')), 'hex')`
    const { action, actor, code, id, outcome, requestId, resource } = record
    return sql`
      WITH now AS MATERIALIZED (SELECT date_trunc('milliseconds', clock_timestamp()) AS at),
      head AS (
        INSERT INTO audit_heads AS h (chain, seq, at, hash, prev_hash)
        SELECT ${chain}, 1, now.at, ${hashAfter(sql`1`, sql`now.at`, sql`${GENESIS_HASH}::text`)}, ${GENESIS_HASH} FROM now
        ON CONFLICT (chain) DO UPDATE SET seq = h.seq + 1, at = GREATEST(h.at, excluded.at), prev_hash = h.hash,
          hash = ${hashAfter(sql`h.seq + 1`, sql`GREATEST(h.at, excluded.at)`, sql`h.hash`)}
        RETURNING seq, at, hash, prev_hash
      )
      INSERT INTO audit (chain, seq, id, at, actor, action, resource, outcome, code, request_id, details, prev_hash, hash, about)
      SELECT ${chain}, seq, ${id}, ${isoOf(sql`at`)}, ${actor}, ${action}, ${resource}, ${outcome}, ${code}, ${requestId},
        ${details === undefined ? null : JSON.stringify(details)}, prev_hash, hash, ${chain === "" ? ownerOf(sql, resource) : sql`NULL`}
      FROM head`
  })

/** The hashed text of the record without the position, the time and the hash before it: the parts around these three. */
const fixedText = (
  record: Omit<HashedAuditFields, "at" | "prevHash" | "seq">
): readonly [start: string, beforeTime: string, beforeHash: string, end: string] => {
  // The text begins with the id. Random texts occur nowhere else in it.
  const [at, prevHash] = [randomBytes(32).toString("hex"), randomBytes(32).toString("hex")]
  const start = `[${JSON.stringify(record.id)},`
  const text = auditText({ ...record, seq: 0, at, prevHash }).slice(start.length + 1)
  const [beforeTime = "", rest = ""] = text.split(at)
  const [beforeHash = "", end = ""] = rest.split(prevHash)
  return [start, beforeTime, beforeHash, end]
}

/** Owner of a resource that belongs to no project; null if the owner is unknown. */
const ownerOf = (sql: SqlClient.SqlClient, id: string) => sql`COALESCE(
  (SELECT owner_id FROM devices WHERE id = ${id}), (SELECT user_id FROM sign_ins WHERE id = ${id}),
  (SELECT user_id FROM api_keys WHERE id = ${id}), (SELECT user_id FROM chat_bindings WHERE id = ${id}))`
