/**
 * The audit trail: one hash chain a project and one for what belongs to none. Metadata only.
 *
 * A record that is made inside a transaction is part of it: what was done and that it was done are written together. Records of one
 * chain are added one after the other, also by several Hubs.
 */
import {
  type AuditOutcome,
  type AuditRecord,
  auditText,
  type DecisionDetails
} from "@corral/domain/access/Audit"
import type { AuditAction } from "@corral/domain/access/AuditAction"
import type { Coded, ErrorCode } from "@corral/domain/errors/ErrorTable"
import { CurrentPrincipal } from "@corral/domain/hub-api/SessionAuthority"
import type { AuditId, ProjectId, RequestId } from "@corral/domain/identity/Ids"
import { CurrentRequestId } from "@corral/domain/http/RequestContext"
import { mint } from "@corral/service/Identifiers"
import { Clock, Context, Effect, Layer } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { createHash } from "node:crypto"

/** What was done or tried, to what. */
export interface AuditedAction {
  readonly action: AuditAction
  /** The id of what was acted on. */
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

export type AuditedFields<A> = (
  result: A
) => Partial<Pick<AuditEntry, "actor" | "resource" | "projectId" | "details">>

export class Audit extends Context.Service<
  Audit,
  {
    readonly record: (entry: AuditEntry) => Effect.Effect<void, SqlError.SqlError>
    /**
     * Runs `self` as one transaction with its record. A failure of it is recorded too, when everything of it has been taken back. `made`
     * names what came of it where that had no id before.
     */
    readonly perform: <A, E, R>(
      deed: AuditedAction,
      self: Effect.Effect<A, E, R>,
      made?: AuditedFields<A>
    ) => Effect.Effect<A, E | SqlError.SqlError, R | CurrentPrincipal | CurrentRequestId>
    /** As `done`, of somebody who is known by something else than a sign-in. */
    readonly performAs: <A, E, R>(
      actor: string,
      deed: AuditedAction,
      self: Effect.Effect<A, E, R>,
      made?: AuditedFields<A>
    ) => Effect.Effect<A, E | SqlError.SqlError, R | CurrentRequestId>
  }
>()("corral/hub/Audit") {
  static readonly layer = Layer.effect(
    Audit,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const clock = yield* Clock.Clock

      /** Owner of a resource that belongs to no project; null if the owner is unknown. */
      const ownerOf = (id: string) =>
        Effect.map(
          sql<{ readonly about: string | null }>`SELECT COALESCE(
            (SELECT owner_id FROM devices WHERE id = ${id}), (SELECT user_id FROM sign_ins WHERE id = ${id}),
            (SELECT user_id FROM api_keys WHERE id = ${id}), (SELECT user_id FROM chat_bindings WHERE id = ${id})
          ) AS about`,
          ([row]) => row?.about ?? null
        )

      const record = (entry: AuditEntry) =>
        sql.withTransaction(
          Effect.gen(function* () {
            const chain = entry.projectId ?? ""
            const about = chain === "" ? yield* ownerOf(entry.resource) : null
            yield* sql`INSERT INTO audit_heads (chain, seq, hash) VALUES (${chain}, 0, ${GENESIS_HASH}) ON CONFLICT DO NOTHING`
            const [head] =
              yield* sql<Head>`SELECT seq::int AS seq, hash FROM audit_heads WHERE chain = ${chain} FOR UPDATE`
            const now = clock.currentTimeMillisUnsafe()
            const made: Omit<AuditRecord, "hash"> = {
              id: mint<AuditId>("aud", now),
              seq: (head?.seq ?? 0) + 1,
              at: new Date(now).toISOString(),
              actor: entry.actor,
              action: entry.action,
              resource: entry.resource,
              outcome: entry.outcome,
              code: entry.code,
              requestId: entry.requestId,
              projectId: entry.projectId,
              ...(entry.details === undefined ? {} : { details: entry.details }),
              prevHash: head?.hash ?? GENESIS_HASH
            }
            const hash = auditRecordHash(made)
            yield* sql`INSERT INTO audit ${sql.insert({
              chain,
              seq: made.seq,
              id: made.id,
              at: made.at,
              actor: made.actor,
              action: made.action,
              resource: made.resource,
              outcome: made.outcome,
              code: made.code,
              request_id: made.requestId,
              details: made.details === undefined ? null : JSON.stringify(made.details),
              prev_hash: made.prevHash,
              hash,
              about
            })}`
            yield* sql`UPDATE audit_heads SET seq = ${made.seq}, hash = ${hash} WHERE chain = ${chain}`
          })
        )

      const doneBy = Effect.fnUntraced(function* <A, E, R>(
        actor: string,
        deed: AuditedAction,
        self: Effect.Effect<A, E, R>,
        made?: AuditedFields<A>
      ) {
        const requestId = yield* CurrentRequestId
        const told = { ...deed, actor, requestId }
        return yield* sql
          .withTransaction(
            Effect.tap(self, (result) =>
              record({ ...told, ...made?.(result), outcome: "allowed", code: null })
            )
          )
          .pipe(
            Effect.tapError((error) =>
              isCoded(error) ? record({ ...told, outcome: outcomeOf(error), code: error.code }) : Effect.void
            )
          )
      })

      return Audit.of({
        record,
        performAs: doneBy,
        perform: (deed, self, made) =>
          Effect.flatMap(CurrentPrincipal, ({ userId }) => doneBy(userId, deed, self, made))
      })
    })
  )
}

/** What the first record of a chain follows on. */
export const GENESIS_HASH = "0".repeat(64)

interface Head {
  readonly seq: number
  readonly hash: string
}

/** The hash that a record must have. */
export const auditRecordHash = (record: Omit<AuditRecord, "hash">): string =>
  createHash("sha256").update(auditText(record)).digest("hex")

const isCoded = (error: unknown): error is Coded<ErrorCode> =>
  typeof error === "object" && error !== null && "code" in error && typeof error.code === "string"

const denials: ReadonlySet<ErrorCode> = new Set([
  "binding_required",
  "permission_denied",
  "unauthorized_target",
  "workspace_outside_allowlist"
])

const outcomeOf = ({ code }: Coded<ErrorCode>): AuditOutcome => (denials.has(code) ? "denied" : "failed")
