/**
 * Reading the audit trail, newest first, and following its chain from the first record to the last.
 */
import type { AuditOutcome, AuditRecord, AuditVerification } from "@corral/domain/Audit"
import type { Proof } from "@corral/domain/Authorization"
import type { AuditId, ProjectId, RequestId } from "@corral/domain/Ids"
import { Context, Effect, Layer, Option, Stream } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { FIRST, hashOf } from "./Audit.ts"
import { limitTo } from "../store/Limit.ts"

/** A project's chain, or of what belongs to none that which one person did. */
export type AuditScope = Proof<"audit.read"> | { readonly actor: string }

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
    /** The whole trail, the first record first, read as it is taken. Records that are added meanwhile come too. */
    readonly records: (proof: Proof<"audit.read">) => Stream.Stream<AuditRecord, SqlError.SqlError>
    /** Whether each record's hash is its own and follows on the one before. */
    readonly verify: (proof: Proof<"audit.read">) => Effect.Effect<AuditVerification, SqlError.SqlError>
  }
>()("corral/hub/AuditTrail") {
  static readonly layer = Layer.effect(
    AuditTrail,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient

      /** A page of a chain, in order. */
      const after = (chain: string, seq: number) =>
        sql<Row>`
          SELECT ${columns(sql)} FROM audit WHERE chain = ${chain} AND seq > ${seq} ORDER BY seq LIMIT ${PAGE}`.pipe(
          Effect.map((rows) => rows.map(recordOf))
        )

      return AuditTrail.of({
        records: ({ subject }) =>
          Stream.paginate(0, (seq) =>
            Effect.map(after(subject, seq), (records) => [
              records,
              Option.map(Option.fromNullishOr(records.at(-1)), (last) => last.seq)
            ])
          ),

        list: (scope, { action, actor, from, to }, before, limit) => {
          const conditions = [
            "subject" in scope ? sql`chain = ${scope.subject}` : sql`chain = '' AND actor = ${scope.actor}`,
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

        verify: Effect.fnUntraced(function* ({ subject }) {
          let [checked, prevHash] = [0, FIRST]
          for (;;) {
            const records = yield* after(subject, checked)
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
          }>`SELECT hash FROM audit_heads WHERE chain = ${subject}`
          return (head?.hash ?? FIRST) === prevHash
            ? { ok: true, checked }
            : { ok: false, checked, brokenAtSeq: checked + 1 }
        })
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
