/**
 * Verification of chains of the audit trail: reads each record once, in the order of positions.
 *
 * Guarantees: finds records that were changed, removed, moved or added by anything but a Hub. Records that are added meanwhile are no finding, and are not
 * verified.
 */
import type { AuditVerification } from "@corral/domain/access/Audit"
import { Effect } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import { AUDIT_PARTS, auditRecordHash, GENESIS_HASH } from "./AuditChain.ts"
import { chainHeadRows, type StoredAuditRecord } from "./AuditRow.ts"

/** One hash chain: its head at the begin of the verification, and how far it is verified. */
interface Line {
  readonly head: number
  readonly headHash: string
  readonly step: number
  /** Position of the next record. */
  next: number
  prevHash: string
  /** The last position that was read. */
  later: number
}

/** Lines by their number: 0 is a project's chain, or that of the first versions for records without a project; others are `audit_parts`. */
type Lines = ReadonlyMap<number, Line>

const linesOf = (sql: SqlClient.SqlClient, chain: string) =>
  Effect.map(
    chainHeadRows.all(sql`
      SELECT 0 AS part, 1 AS first, seq::float8 AS seq, hash FROM audit_heads WHERE chain = ${chain}
      UNION ALL SELECT part, first_seq::float8, seq::float8, hash FROM audit_parts WHERE ${chain} = ''`),
    (heads) => {
      const none = { part: 0, first: 1, seq: 0, hash: GENESIS_HASH }
      const lines = [none, ...heads].map(({ first, hash, part, seq }): readonly [number, Line] => {
        const step = part === 0 ? 1 : AUDIT_PARTS
        return [part, { head: seq, headHash: hash, step, next: first, prevHash: GENESIS_HASH, later: seq }]
      })
      const partsStart = Math.min(...heads.filter(({ part }) => part > 0).map(({ first }) => first))
      return { lines: new Map(lines), partsStart }
    }
  )

/** Number of the line that has a position. */
const lineAt = (seq: number, partsStart: number): number =>
  seq < partsStart ? 0 : 1 + ((seq - partsStart) % AUDIT_PARTS)

/** Whether the record is the next one of its line, or was added after the verification began. */
const advance = (line: Line | undefined, { hash, ...record }: StoredAuditRecord): boolean => {
  if (line === undefined) return false
  if (record.seq > line.head) {
    line.later = record.seq
    return true
  }
  if (record.seq !== line.next || record.prevHash !== line.prevHash || auditRecordHash(record) !== hash)
    return false
  line.next += line.step
  line.prevHash = hash
  return true
}

/** The first position that a line lacks, or that no Hub has written. */
const brokenEnd = (lines: Lines, heads: Lines): number | undefined => {
  const broken = [...lines].flatMap(([part, { head, headHash, later, next, prevHash, step }]) => {
    if (next <= head) return [next]
    if (prevHash !== headHash) return [next - step]
    return later > (heads.get(part)?.head ?? head) ? [later] : []
  })
  return broken.length === 0 ? undefined : Math.min(...broken)
}

/** `pageAfter` reads a page of the chain's records, by position. */
export const verifyChain = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  chain: string,
  pageAfter: (seq: number) => Effect.Effect<ReadonlyArray<StoredAuditRecord>, SqlError.SqlError>
): Effect.fn.Return<AuditVerification, SqlError.SqlError> {
  const { lines, partsStart } = yield* linesOf(sql, chain)
  let checked = 0
  let last = Number.MIN_SAFE_INTEGER
  for (;;) {
    const records = yield* pageAfter(last)
    for (const record of records) {
      const line = lines.get(lineAt(record.seq, partsStart))
      if (!advance(line, record))
        return { ok: false, checked, brokenAtSeq: Math.min(line?.next ?? record.seq, record.seq) }
      if (line !== undefined && record.seq <= line.head) checked++
      last = record.seq
    }
    if (records.length === 0) break
  }
  // A head has the hash of the last record, so it reveals records that were deleted at the end.
  const brokenAtSeq = brokenEnd(lines, (yield* linesOf(sql, chain)).lines)
  return brokenAtSeq === undefined ? { ok: true, checked } : { ok: false, checked, brokenAtSeq }
})
