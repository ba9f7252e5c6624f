/**
 * Chains of the audit trail: one per project, and one for records without a project. Each record contains the hash of the record before it.
 *
 * Guarantees: records of one chain are added one after the other, also by several Hubs.
 */
import {
  type AuditOutcome,
  type AuditRecord,
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
 * Appends the entry to its chain, as part of the caller's transaction where there is one. `nowMs` in Unix milliseconds.
 *
 * One statement: the database locks the head of the chain and completes the hashed text with the position and the hash that it finds there.
 */
export const appendRecord = (sql: SqlClient.SqlClient, entry: AuditEntry, nowMs: () => number) =>
  Effect.suspend(() => {
    const chain = entry.projectId ?? ""
    const record = unchainedRecord(entry, nowMs())
    const [start, middle, end] = textAroundChain(record)
    const hashAfter = (seq: Statement.Fragment, prevHash: Statement.Fragment) =>
      sql`encode(sha256(convert_to(${start} || (${seq})::text || ${middle} || ${prevHash} || ${end}, 'UTF8')), 'hex')`
    const { action, actor, at, code, details, id, outcome, requestId, resource } = record
    return sql`
      WITH head AS (
        INSERT INTO audit_heads AS h (chain, seq, hash, prev_hash)
        VALUES (${chain}, 1, ${hashAfter(sql`1`, sql`${GENESIS_HASH}::text`)}, ${GENESIS_HASH})
        ON CONFLICT (chain) DO UPDATE SET seq = h.seq + 1, prev_hash = h.hash, hash = ${hashAfter(sql`h.seq + 1`, sql`h.hash`)}
        RETURNING seq, hash, prev_hash
      )
      INSERT INTO audit (chain, seq, id, at, actor, action, resource, outcome, code, request_id, details, prev_hash, hash, about)
      SELECT ${chain}, seq, ${id}, ${at}, ${actor}, ${action}, ${resource}, ${outcome}, ${code}, ${requestId},
        ${details === undefined ? null : JSON.stringify(details)}, prev_hash, hash, ${chain === "" ? ownerOf(sql, resource) : sql`NULL`}
      FROM head`
  })

type UnchainedRecord = Omit<AuditRecord, "hash" | "prevHash" | "seq">

const unchainedRecord = (entry: AuditEntry, now: number): UnchainedRecord => ({
  id: mint<AuditId>("aud", now),
  at: new Date(now).toISOString(),
  actor: entry.actor,
  action: entry.action,
  resource: entry.resource,
  outcome: entry.outcome,
  code: entry.code,
  requestId: entry.requestId,
  projectId: entry.projectId,
  ...(entry.details === undefined ? {} : { details: entry.details })
})

/** The hashed text of the record, without the position and the hash before it: the parts before, between and after them. */
const textAroundChain = (record: UnchainedRecord): readonly [start: string, middle: string, end: string] => {
  // The text begins with the id. A random hash occurs nowhere else in it.
  const prevHash = randomBytes(32).toString("hex")
  const start = `[${JSON.stringify(record.id)},`
  const text = auditText({ ...record, seq: 0, prevHash })
  const at = text.indexOf(prevHash)
  return [start, text.slice(start.length + 1, at), text.slice(at + prevHash.length)]
}

/** Owner of a resource that belongs to no project; null if the owner is unknown. */
const ownerOf = (sql: SqlClient.SqlClient, id: string) => sql`COALESCE(
  (SELECT owner_id FROM devices WHERE id = ${id}), (SELECT user_id FROM sign_ins WHERE id = ${id}),
  (SELECT user_id FROM api_keys WHERE id = ${id}), (SELECT user_id FROM chat_bindings WHERE id = ${id}))`
