/** Valid chains of audit records, put into a Hub's store by SQL. */
import type { AuditAction } from "@corral/domain/access/AuditAction"
import { AuditId, ProjectId, RequestId, UserId } from "@corral/domain/identity/Ids"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { auditRecordHash, GENESIS_HASH } from "../../src/audit/Audit.ts"

const BATCH = 20_000
const START = Date.UTC(2026, 0, 1)
const requestId = RequestId.make("req-seeded")

const idOf = (prefix: string, i: number) => `${prefix}_${String(i).padStart(26, "0")}`

/** Records that were seeded. */
let seeded = 0

/** Who did what in a record, by its number. */
export interface SeededRecord {
  readonly actor: string
  readonly action: AuditAction
}

/** ISO time of the seeded record with that number. Records are a second apart. */
export const seededTime = (i: number): string => new Date(START + i * 1_000).toISOString()

/** Adds `count` records to a chain, after those that were seeded before. */
export const seedAudit = Effect.fnUntraced(function* (
  chain: ProjectId | "",
  count: number,
  recordOf: (i: number) => SeededRecord,
  before = 0
) {
  const sql = yield* SqlClient.SqlClient
  const [head] = yield* sql<{ readonly hash: string }>`SELECT hash FROM audit_heads WHERE chain = ${chain}`
  let prevHash = before === 0 ? GENESIS_HASH : (head?.hash ?? GENESIS_HASH)
  const end = before + count
  for (let from = before; from < end; from += BATCH) {
    const rows = Array.from({ length: Math.min(BATCH, end - from) }, (_, offset) => {
      const i = from + offset
      const record = {
        id: AuditId.make(idOf("aud", seeded++)),
        seq: i + 1,
        at: seededTime(i),
        ...recordOf(i),
        resource: chain,
        outcome: "allowed" as const,
        code: null,
        requestId,
        projectId: chain === "" ? null : chain,
        prevHash
      }
      prevHash = auditRecordHash(record)
      const { actor, action, at, id, resource, seq } = record
      return { id, seq, at, actor, action, resource, prev_hash: record.prevHash, hash: prevHash }
    })
    yield* sql`
      INSERT INTO audit (chain, seq, id, at, actor, action, resource, outcome, request_id, prev_hash, hash)
      SELECT ${chain}, seq, id, at, actor, action, resource, 'allowed', ${requestId}, prev_hash, hash
      FROM json_populate_recordset(NULL::audit, ${JSON.stringify(rows)}::json)`
  }
  yield* sql`INSERT INTO audit_heads (chain, seq, hash) VALUES (${chain}, ${end}, ${prevHash})
    ON CONFLICT (chain) DO UPDATE SET seq = excluded.seq, hash = excluded.hash`
  yield* sql`ANALYZE audit`
})

/** Rows of the table that the effect's statements read. */
export const rowsRead = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const read = Effect.map(
      sql<{ readonly rows: number }>`
        SELECT (seq_tup_read + COALESCE(idx_tup_fetch, 0))::int AS rows FROM pg_stat_xact_user_tables WHERE relname = 'audit'`,
      ([row]) => row?.rows ?? 0
    )
    // Counts are of the transaction.
    return yield* sql.withTransaction(
      Effect.gen(function* () {
        const before = yield* read
        const result = yield* effect
        return { result, rows: (yield* read) - before }
      })
    )
  })

export const seededUser = (i: number) => UserId.make(idOf("usr", i))

export const seededProject = (i: number) => ProjectId.make(idOf("prj", i))
