/**
 * Writer of the audit trail, and its chains: one per project, and 64 for records without a project. Each record contains the hash of the record before
 * it. Metadata only.
 *
 * Guarantees: a record that is written inside a transaction is part of it, so an action and its record are stored together. Records of one chain are added
 * one after the other, also by several Hubs. A record without a project does not wait for a transaction that adds another one, such as one of a Hub that
 * is paused.
 */
import {
  type AuditOutcome,
  auditText,
  type DecisionDetails,
  type HashedAuditFields
} from "@corral/domain/access/Audit"
import type { AuditAction } from "@corral/domain/access/AuditAction"
import type { Coded, ErrorCode } from "@corral/domain/errors/ErrorTable"
import { CurrentRequestId } from "@corral/domain/http/RequestContext"
import { CurrentPrincipal } from "@corral/domain/hub-api/SessionAuthority"
import type { AuditId, ProjectId, RequestId } from "@corral/domain/identity/Ids"
import { mint } from "@corral/service/Identifiers"
import { Clock, Context, Effect, Layer } from "effect"
import { SqlClient, type SqlError, type Statement } from "effect/sql"
import { plannedTransaction } from "../store/Database.ts"
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

/** Chains of the records without a project. Each has every such position. */
export const AUDIT_PARTS = 64

/**
 * Appends the entry to its chain, as part of the caller's transaction where there is one. `nowMs` in Unix milliseconds, for the id.
 *
 * One statement: the database locks the head of the chain and completes the hashed text with the position, the time and the hash that it
 * finds there. The time is the database's, and never before that of the record before it, so lists by time have the order of the chain.
 */
export const appendRecord = (sql: SqlClient.SqlClient, entry: AuditEntry, nowMs: () => number) =>
  Effect.suspend(() => {
    const { details, projectId, ...fields } = entry
    const record = { ...fields, projectId, id: mint<AuditId>("aud", nowMs()) }
    const text = fixedText(details === undefined ? record : { ...record, details })
    const head = projectId === null ? partHead(sql, text) : projectHead(sql, text, projectId)
    const { action, actor, code, id, outcome, requestId, resource } = record
    const appended = sql`
      WITH now AS MATERIALIZED (SELECT date_trunc('milliseconds', clock_timestamp()) AS at), ${head}
      INSERT INTO audit (chain, seq, id, at, actor, action, resource, outcome, code, request_id, details, prev_hash, hash, about)
      SELECT ${projectId ?? ""}, seq, ${id}, ${isoTime(sql, sql`at`)}, ${actor}, ${action}, ${resource}, ${outcome}, ${code}, ${requestId},
        ${details === undefined ? null : JSON.stringify(details)}, prev_hash, hash, ${projectId === null ? ownerOf(sql, resource) : sql`NULL`}
      FROM head RETURNING seq`
    return Effect.flatMap(appended, ({ length }) =>
      length === 1 ? Effect.void : Effect.die(new Error("The chain of an audit record has no head."))
    )
  })

/** Advances the head of a project's chain, or makes it. */
const projectHead = (sql: SqlClient.SqlClient, text: FixedText, projectId: ProjectId) => sql`
  head AS (
    INSERT INTO audit_heads AS h (chain, seq, at, hash, prev_hash)
    SELECT ${projectId}, 1, now.at, ${hashAfter(sql, text, sql`1`, sql`now.at`, sql`${GENESIS_HASH}::text`)}, ${GENESIS_HASH} FROM now
    ON CONFLICT (chain) DO UPDATE SET seq = h.seq + 1, at = GREATEST(h.at, excluded.at), prev_hash = h.hash,
      hash = ${hashAfter(sql, text, sql`h.seq + 1`, sql`GREATEST(h.at, excluded.at)`, sql`h.hash`)}
    RETURNING seq, at, hash, prev_hash
  )`

/**
 * Advances the first head that no other transaction has (ADR 114). Waits only where others have all heads.
 *
 * The head is chosen by another part of the statement: PostgreSQL would choose again, and advance none, where the row has changed since its snapshot.
 */
const partHead = (sql: SqlClient.SqlClient, text: FixedText) => {
  const seq = sql`h.seq + ${sql.literal(String(AUDIT_PARTS))}`
  const at = sql`GREATEST(h.at, chosen.at)`
  return sql`
    free AS MATERIALIZED (SELECT part FROM audit_parts ORDER BY part LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED),
    chosen AS MATERIALIZED (SELECT now.at, COALESCE((SELECT part FROM free), 1) AS part FROM now),
    head AS (
      UPDATE audit_parts AS h SET seq = ${seq}, at = ${at}, prev_hash = h.hash, hash = ${hashAfter(sql, text, seq, at, sql`h.hash`)}
      FROM chosen WHERE h.part = chosen.part RETURNING h.seq, h.at, h.hash, h.prev_hash
    )`
}

const isoTime = (sql: SqlClient.SqlClient, at: Statement.Fragment) =>
  sql`to_char((${at}) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`

const hashAfter = (
  sql: SqlClient.SqlClient,
  { beforeHash, beforeTime, end, start }: FixedText,
  seq: Statement.Fragment,
  at: Statement.Fragment,
  prevHash: Statement.Fragment
) =>
  sql`encode(sha256(convert_to(${start} || (${seq})::text || ${beforeTime} || ${isoTime(sql, at)} || ${beforeHash} || ${prevHash} || ${end}, 'UTF8')), 'hex')`

/** The hashed text of a record without the position, the time and the hash before it: the parts around these three. */
interface FixedText {
  readonly start: string
  readonly beforeTime: string
  readonly beforeHash: string
  readonly end: string
}

const fixedText = (record: Omit<HashedAuditFields, "at" | "prevHash" | "seq">): FixedText => {
  // The text begins with the id. Random texts occur nowhere else in it.
  const [at, prevHash] = [randomBytes(32).toString("hex"), randomBytes(32).toString("hex")]
  const start = `[${JSON.stringify(record.id)},`
  const text = auditText({ ...record, seq: 0, at, prevHash }).slice(start.length + 1)
  const [beforeTime = "", rest = ""] = text.split(at)
  const [beforeHash = "", end = ""] = rest.split(prevHash)
  return { start, beforeTime, beforeHash, end }
}

/** Owner of a resource that belongs to no project; null if the owner is unknown. */
const ownerOf = (sql: SqlClient.SqlClient, id: string) => sql`COALESCE(
  (SELECT owner_id FROM devices WHERE id = ${id}), (SELECT user_id FROM sign_ins WHERE id = ${id}),
  (SELECT user_id FROM api_keys WHERE id = ${id}), (SELECT user_id FROM chat_bindings WHERE id = ${id}))`

/** Fields of the record that only the result has, such as the id of a new resource. */
type AuditedFields<A> = (
  result: A
) => Partial<Pick<AuditEntry, "actor" | "resource" | "projectId" | "details">>

/** Writer of the audit trail. */
export class Audit extends Context.Service<
  Audit,
  {
    readonly record: (entry: AuditEntry) => Effect.Effect<void, SqlError.SqlError>
    /** Runs `self` and writes its record in one transaction. If `self` fails, the transaction is rolled back and the failure recorded. */
    readonly perform: <A, E, R>(
      action: AuditedAction,
      self: Effect.Effect<A, E, R>,
      fieldsOf?: AuditedFields<A>
    ) => Effect.Effect<A, E | SqlError.SqlError, R | CurrentPrincipal | CurrentRequestId>
    /** `perform` for an actor without a sign-in. */
    readonly performAs: <A, E, R>(
      actor: string,
      action: AuditedAction,
      self: Effect.Effect<A, E, R>,
      fieldsOf?: AuditedFields<A>
    ) => Effect.Effect<A, E | SqlError.SqlError, R | CurrentRequestId>
  }
>()("corral/hub/Audit") {
  static readonly layer = Layer.effect(
    Audit,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const clock = yield* Clock.Clock
      const record = Effect.fn("Audit.record")(function* (entry: AuditEntry) {
        yield* appendRecord(sql, entry, () => clock.currentTimeMillisUnsafe())
      })

      const performAs = Effect.fn("Audit.performAs")(function* <A, E, R>(
        actor: string,
        action: AuditedAction,
        self: Effect.Effect<A, E, R>,
        fieldsOf?: AuditedFields<A>
      ) {
        const requestId = yield* CurrentRequestId
        const entry = { ...action, actor, requestId }
        return yield* self.pipe(
          Effect.tap((result) => record({ ...entry, ...fieldsOf?.(result), outcome: "allowed", code: null })),
          plannedTransaction(sql),
          Effect.tapError((error) =>
            isCoded(error) ? record({ ...entry, outcome: outcomeOf(error), code: error.code }) : Effect.void
          )
        )
      })

      return Audit.of({
        record,
        performAs,
        perform: (action, self, fieldsOf) =>
          Effect.flatMap(CurrentPrincipal, ({ userId }) => performAs(userId, action, self, fieldsOf))
      })
    })
  )
}

const isCoded = (error: unknown): error is Coded<ErrorCode> =>
  typeof error === "object" && error !== null && "code" in error && typeof error.code === "string"

const denialCodes: ReadonlySet<ErrorCode> = new Set([
  "binding_required",
  "permission_denied",
  "unauthorized_target",
  "workspace_outside_allowlist"
])

const outcomeOf = ({ code }: Coded<ErrorCode>): AuditOutcome => (denialCodes.has(code) ? "denied" : "failed")
