/**
 * Reading the audit trail, newest first, and following its chain from the first record to the last.
 */
import type { AuditOutcome, AuditRecord, AuditVerification } from "@corral/domain/Audit"
import type { Proof } from "@corral/domain/Authorization"
import type { AuditId, ProjectId, RequestId, UserId } from "@corral/domain/Ids"
import { Context, Effect, Layer, Option, Semaphore, Stream } from "effect"
import { SqlClient, type SqlError, type Statement } from "effect/sql"
import { FIRST, hashOf } from "./Audit.ts"
import { limitTo } from "../store/Limit.ts"

/** A project's chain, or the records of no project that one user made or that are about what is theirs. */
export type AuditScope = Proof<"audit.read"> | { readonly reader: UserId }

/** A project's chain, or the one of all records of no project. */
export type AuditChain = Proof<"audit.read"> | "no project"

export interface AuditFilter {
  readonly actor?: string | undefined
  readonly action?: string | undefined
  /** ISO 8601; `to` exclusive. */
  readonly from?: string | undefined
  readonly to?: string | undefined
}

export class AuditTrail extends Context.Service<
  AuditTrail,
  {
    /** At most `limit` records before `seq`, newest first. */
    readonly list: (
      scope: AuditScope,
      filter: AuditFilter,
      before: number | undefined,
      limit: number
    ) => Effect.Effect<ReadonlyArray<AuditRecord>, SqlError.SqlError>
    /** All records of the scope, the first record first, read as it is taken. Records that are added meanwhile come too. */
    readonly records: (scope: AuditScope) => Stream.Stream<AuditRecord, SqlError.SqlError>
    /** Whether each record's hash is its own and follows on the one before. */
    readonly verify: (chain: AuditChain) => Effect.Effect<AuditVerification, SqlError.SqlError>
  }
>()("corral/hub/AuditTrail") {
  static readonly layer = Layer.effect(
    AuditTrail,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient

      const within = (scope: AuditScope) =>
        "subject" in scope
          ? sql`chain = ${scope.subject}`
          : sql`chain = '' AND (actor = ${scope.reader} OR about = ${scope.reader})`

      /** A page, in order. */
      const after = (rows: Statement.Fragment, seq: number) =>
        sql<Row>`
          SELECT ${columns(sql)} FROM audit WHERE ${rows} AND seq > ${seq} ORDER BY seq LIMIT ${PAGE}`.pipe(
          Effect.map((rows) => rows.map(recordOf))
        )
      // A long chain takes a while: those who ask at the same time wait for each other, and not for everyone else's queries.
      const oneAtATime = yield* Semaphore.make(1)

      return AuditTrail.of({
        records: (scope) =>
          Stream.paginate(0, (seq) =>
            Effect.map(after(within(scope), seq), (records) => [
              records,
              Option.map(Option.fromNullishOr(records.at(-1)), (last) => last.seq)
            ])
          ),

        list: (scope, { action, actor, from, to }, before, limit) => {
          const conditions = [
            within(scope),
            ...(actor === undefined ? [] : [sql`actor = ${actor}`]),
            ...(action === undefined ? [] : [sql`action = ${action}`]),
            ...(from === undefined ? [] : [sql`at >= ${from}`]),
            ...(to === undefined ? [] : [sql`at < ${to}`]),
            ...(before === undefined ? [] : [sql`seq < ${before}`])
          ]
          return sql<Row>`SELECT ${columns(sql)} FROM audit WHERE ${sql.and(conditions)} ORDER BY seq DESC ${limitTo(sql, limit)}`.pipe(
            Effect.map((rows) => rows.map(recordOf))
          )
        },

        verify: Effect.fnUntraced(function* (of) {
          const chain = of === "no project" ? "" : of.subject
          let [checked, prevHash] = [0, FIRST]
          for (;;) {
            const records = yield* after(sql`chain = ${chain}`, checked)
            for (const record of records) {
              const { hash, ...rest } = record
              if (record.seq !== checked + 1 || record.prevHash !== prevHash || hashOf(rest) !== hash)
                return { ok: false, checked, brokenAtSeq: checked + 1 }
              checked++
              prevHash = hash
            }
            if (records.length < PAGE) break
          }
          // The head is what the next record follows on: records that were cut off at the end are missed by it.
          const [head] = yield* sql<{
            readonly hash: string
          }>`SELECT hash FROM audit_heads WHERE chain = ${chain}`
          return (head?.hash ?? FIRST) === prevHash
            ? { ok: true, checked }
            : { ok: false, checked, brokenAtSeq: checked + 1 }
        }, oneAtATime.withPermit)
      })
    })
  )
}

const PAGE = 1_000

const columns = (sql: SqlClient.SqlClient) =>
  sql.literal(
    "id, seq::int AS seq, at, actor, action, resource, outcome, code, request_id, chain, prev_hash, hash"
  )

interface Row {
  readonly id: AuditId
  readonly seq: number
  readonly at: string
  readonly actor: string
  readonly action: string
  readonly resource: string
  readonly outcome: AuditOutcome
  readonly code: string | null
  readonly request_id: RequestId
  readonly chain: ProjectId | ""
  readonly prev_hash: string
  readonly hash: string
}

const recordOf = ({ chain, prev_hash, request_id, ...row }: Row): AuditRecord => ({
  id: row.id,
  seq: row.seq,
  at: row.at,
  actor: row.actor,
  action: row.action,
  resource: row.resource,
  outcome: row.outcome,
  code: row.code,
  requestId: request_id,
  projectId: chain === "" ? null : chain,
  prevHash: prev_hash,
  hash: row.hash
})
