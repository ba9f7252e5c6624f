/**
 * Reader of the audit trail: pages, exports, and verification of chains, which reads each record once, in the order of positions. Also the codec of
 * its tables.
 *
 * Guarantees: verification finds records that were changed, removed, moved or added by anything but a Hub. Records that are added meanwhile are no
 * finding, and are not verified.
 */
import { AuditRecord, type AuditVerification } from "@corral/domain/access/Audit"
import type { AuditAction } from "@corral/domain/access/AuditAction"
import type { Proof } from "@corral/domain/access/Authorization"
import type { UserId } from "@corral/domain/identity/Ids"
import { Context, Effect, Layer, Option, Schema, Semaphore, Stream } from "effect"
import { SqlClient, type SqlError, type Statement } from "effect/sql"
import { decodeSeq, limitTo, type Position } from "../store/ListPage.ts"
import { AUDIT_PARTS, GENESIS_HASH, auditRecordHash } from "./Audit.ts"
import { jsonColumn, storedRows } from "../store/StoredRows.ts"

// Codec of the tables `audit`, `audit_heads` and `audit_parts`.
//
// Stored records decode as text, so that a record that was changed in the database reaches `verify`, which reports it. Lists decode them
// again as records.

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

const AUDIT_COLUMNS =
  "id, seq::float8 AS seq, at, actor, action, resource, outcome, code, request_id, details, chain, prev_hash, hash"

const storedAuditRows = storedRows("audit", StoredAuditRow)
const auditRecordRows = storedRows("audit", AuditRecord)

/** Heads of chains: positions of the first and the last record, and the hash of the last. */
const chainHeadRows = storedRows(
  "audit_heads, audit_parts",
  Schema.Struct({ part: Schema.Int, first: Schema.Int, seq: Schema.Int, hash: Schema.String })
)

/** A record as it is stored, changed or not. */
type StoredAuditRecord = ReturnType<typeof storedRecordOf>

const storedRecordOf = (row: typeof StoredAuditRow.Type) => ({
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

/** Chain of a project, or a user's records without a project: own actions, and actions on own resources. */
export type AuditScope = Proof<"audit.read"> | { readonly reader: UserId }

/** Chain of a project, or the chains of all records without a project. */
export type AuditChain = Proof<"audit.read"> | "no project"

export interface AuditFilter {
  readonly actor?: string | undefined
  readonly action?: AuditAction | undefined
  /** ISO 8601; `to` exclusive. */
  readonly from?: string | undefined
  readonly to?: string | undefined
}

export class AuditTrail extends Context.Service<
  AuditTrail,
  {
    /** At most `limit` records of a project before that position, newest first. */
    readonly list: (
      proof: Proof<"audit.read">,
      filter: AuditFilter,
      before: Position | undefined,
      limit: number
    ) => Effect.Effect<ReadonlyArray<AuditRecord>, SqlError.SqlError>
    /**
     * Actions of one user in every project and without one, and records without a project about resources of the user: at most `limit` records
     * before that position, newest first. Excludes refusals in projects that the user may not read: they would reveal that the project exists.
     */
    readonly listOfUser: (
      reader: UserId,
      filter: AuditFilter,
      before: Position | undefined,
      limit: number
    ) => Effect.Effect<ReadonlyArray<AuditRecord>, SqlError.SqlError>
    /** All records of the scope, oldest first, read page by page. Includes records that are added while it runs. */
    readonly records: (scope: AuditScope) => Stream.Stream<StoredAuditRecord, SqlError.SqlError>
    /** Checks that each record has the right hash and the hash of the record before it. */
    readonly verify: (chain: AuditChain) => Effect.Effect<AuditVerification, SqlError.SqlError>
  }
>()("corral/hub/AuditTrail") {
  static readonly layer = Layer.effect(
    AuditTrail,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const columns = sql.literal(AUDIT_COLUMNS)

      // A long chain takes a while. Verifications take turns, a page each, so that they never occupy the whole connection pool.
      const oneAtATime = yield* Semaphore.make(1)

      return AuditTrail.of({
        records: (scope) =>
          "subject" in scope ? recordsOfChain(sql, scope.subject) : recordsOfUser(sql, scope.reader),

        list: Effect.fn("AuditTrail.list")(function* ({ subject }, filter, before, limit) {
          const conditions = [
            sql`chain = ${subject}`,
            ...conditionsOf(sql, filter),
            ...(before === undefined
              ? []
              : [sql`(at, seq) < (${before.at}, ${decodeSeq(before.id, 0)}::bigint)`])
          ]
          return yield* auditRecordRows.all(
            storedRecords(
              sql,
              sql`${sql.and(conditions)} ORDER BY audit.at DESC, audit.seq DESC ${limitTo(sql, limit)}`
            )
          )
        }),

        listOfUser: Effect.fn("AuditTrail.listOfUser")(function* (reader, filter, before, limit) {
          const conditions = [
            sql`(chain = '' OR outcome <> 'denied' OR chain IN (
              SELECT project_id FROM project_members WHERE user_id = ${reader}
              UNION SELECT id FROM projects WHERE visibility = 'internal'))`,
            ...conditionsOf(sql, filter),
            ...(before === undefined ? [] : [sql`(at, id) < (${before.at}, ${before.id})`])
          ]
          // Each part is read in its index's order, so a page costs the same regardless of how many records there are.
          const newest = (part: Statement.Fragment) => sql`(
            SELECT ${columns} FROM audit WHERE ${sql.and([part, ...conditions])}
            ORDER BY audit.at DESC, audit.id DESC ${limitTo(sql, limit)})`
          const rows = yield* storedAuditRows.all(sql`
            SELECT * FROM (
              ${newest(sql`actor = ${reader}`)} UNION ALL ${newest(sql`chain = '' AND about = ${reader} AND actor <> ${reader}`)}
            ) AS found ORDER BY found.at DESC, found.id DESC ${limitTo(sql, limit)}`)
          return yield* auditRecordRows.all(Effect.succeed(rows.map(storedRecordOf)))
        }),

        verify: Effect.fn("AuditTrail.verify")(function* (selected) {
          const chain = selected === "no project" ? "" : selected.subject
          return yield* verifyChain(sql, chain, (seq) => oneAtATime.withPermit(pageOfChain(sql, chain, seq)))
        })
      })
    })
  )
}

const PAGE = 1_000

const storedRecords = (sql: SqlClient.SqlClient, selected: Statement.Fragment) =>
  Effect.map(
    storedAuditRows.all(sql`SELECT ${sql.literal(AUDIT_COLUMNS)} FROM audit WHERE ${selected}`),
    (rows) => rows.map(storedRecordOf)
  )

const recordsOfChain = (sql: SqlClient.SqlClient, chain: string) =>
  Stream.paginate(0, (seq) =>
    Effect.map(pageOfChain(sql, chain, seq), (records) => [
      records,
      Option.map(Option.fromNullishOr(records.at(-1)), (last) => last.seq)
    ])
  )

/** A page of stored records, oldest first. By the column: the selected `seq` is another value, by which PostgreSQL would sort the whole chain. */
const pageOfChain = (sql: SqlClient.SqlClient, chain: string, seq: number) =>
  storedRecords(sql, sql`chain = ${chain} AND audit.seq > ${seq} ORDER BY audit.seq ${limitTo(sql, PAGE)}`)

/** The user's records without a project, in the order of time. */
const recordsOfUser = (sql: SqlClient.SqlClient, reader: UserId) =>
  Stream.paginate({ at: "", seq: 0 }, (after) => {
    const oldest = (part: Statement.Fragment) => sql`(
      SELECT ${sql.literal(AUDIT_COLUMNS)} FROM audit WHERE chain = '' AND ${part} AND (at, audit.seq) > (${after.at}, ${after.seq}::bigint)
      ORDER BY audit.at, audit.seq ${limitTo(sql, PAGE)})`
    return Effect.map(
      storedAuditRows.all(sql`
        SELECT * FROM (
          ${oldest(sql`actor = ${reader}`)} UNION ALL ${oldest(sql`about = ${reader} AND actor <> ${reader}`)}
        ) AS found ORDER BY found.at, found.seq ${limitTo(sql, PAGE)}`),
      (rows) => {
        const records = rows.map(storedRecordOf)
        return [records, Option.fromNullishOr(records.at(-1))] as const
      }
    )
  })

const conditionsOf = (
  sql: SqlClient.SqlClient,
  { action, actor, from, to }: AuditFilter
): ReadonlyArray<Statement.Fragment> => [
  ...(actor === undefined ? [] : [sql`actor = ${actor}`]),
  ...(action === undefined ? [] : [sql`action = ${action}`]),
  ...(from === undefined ? [] : [sql`at >= ${from}`]),
  ...(to === undefined ? [] : [sql`at < ${to}`])
]

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
const verifyChain = Effect.fnUntraced(function* (
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
