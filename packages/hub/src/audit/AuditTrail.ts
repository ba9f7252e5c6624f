/** Reader of the audit trail: pages, exports, and verification of chains. */
import type { AuditRecord, AuditVerification } from "@corral/domain/access/Audit"
import type { AuditAction } from "@corral/domain/access/AuditAction"
import type { Proof } from "@corral/domain/access/Authorization"
import type { UserId } from "@corral/domain/identity/Ids"
import { Context, Effect, Layer, Option, Semaphore, Stream } from "effect"
import { SqlClient, type SqlError, type Statement } from "effect/sql"
import { limitTo } from "../store/Limit.ts"
import { decodeSeq, type Position } from "../store/Position.ts"
import {
  AUDIT_COLUMNS,
  auditRecordRows,
  type StoredAuditRecord,
  storedAuditRows,
  storedRecordOf
} from "./AuditRow.ts"
import { verifyChain } from "./AuditVerifier.ts"

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
  Stream.paginate({ at: "", id: "" }, (after) => {
    const oldest = (part: Statement.Fragment) => sql`(
      SELECT ${sql.literal(AUDIT_COLUMNS)} FROM audit WHERE chain = '' AND ${part} AND (at, id) > (${after.at}, ${after.id})
      ORDER BY audit.at, audit.id ${limitTo(sql, PAGE)})`
    return Effect.map(
      storedAuditRows.all(sql`
        SELECT * FROM (
          ${oldest(sql`actor = ${reader}`)} UNION ALL ${oldest(sql`about = ${reader} AND actor <> ${reader}`)}
        ) AS found ORDER BY found.at, found.id ${limitTo(sql, PAGE)}`),
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
