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
import type { SqlClient } from "effect/sql"
import { createHash } from "node:crypto"
import { auditedOwnerRows, chainHeadRows } from "./AuditRow.ts"

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

/** Appends the entry to its chain, as part of the caller's transaction where there is one. `nowMs` in Unix milliseconds. */
export const appendRecord = (sql: SqlClient.SqlClient, entry: AuditEntry, nowMs: () => number) =>
  sql.withTransaction(
    Effect.gen(function* () {
      const chain = entry.projectId ?? ""
      const about = chain === "" ? yield* findOwner(sql, entry.resource) : null
      const head = yield* lockHead(sql, chain)
      const record = recordAfter(head, entry, nowMs())
      const hash = auditRecordHash(record)
      yield* sql`INSERT INTO audit ${sql.insert({
        chain,
        seq: record.seq,
        id: record.id,
        at: record.at,
        actor: record.actor,
        action: record.action,
        resource: record.resource,
        outcome: record.outcome,
        code: record.code,
        request_id: record.requestId,
        details: record.details === undefined ? null : JSON.stringify(record.details),
        prev_hash: record.prevHash,
        hash,
        about
      })}`
      yield* sql`UPDATE audit_heads SET seq = ${record.seq}, hash = ${hash} WHERE chain = ${chain}`
    })
  )

const lockHead = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, chain: string) {
  yield* sql`INSERT INTO audit_heads (chain, seq, hash) VALUES (${chain}, 0, ${GENESIS_HASH}) ON CONFLICT DO NOTHING`
  const head = yield* chainHeadRows.first(
    sql`SELECT seq::int AS seq, hash FROM audit_heads WHERE chain = ${chain} FOR UPDATE`
  )
  return head ?? { seq: 0, hash: GENESIS_HASH }
})

const recordAfter = (
  head: Pick<AuditRecord, "seq" | "hash">,
  entry: AuditEntry,
  now: number
): Omit<AuditRecord, "hash"> => ({
  id: mint<AuditId>("aud", now),
  seq: head.seq + 1,
  at: new Date(now).toISOString(),
  actor: entry.actor,
  action: entry.action,
  resource: entry.resource,
  outcome: entry.outcome,
  code: entry.code,
  requestId: entry.requestId,
  projectId: entry.projectId,
  ...(entry.details === undefined ? {} : { details: entry.details }),
  prevHash: head.hash
})

/** Owner of a resource that belongs to no project; null if the owner is unknown. */
const findOwner = (sql: SqlClient.SqlClient, id: string) =>
  Effect.map(
    auditedOwnerRows.first(sql`SELECT COALESCE(
      (SELECT owner_id FROM devices WHERE id = ${id}), (SELECT user_id FROM sign_ins WHERE id = ${id}),
      (SELECT user_id FROM api_keys WHERE id = ${id}), (SELECT user_id FROM chat_bindings WHERE id = ${id})
    ) AS about`),
    (row) => row?.about ?? null
  )
