/**
 * Writer of the audit trail. Metadata only.
 *
 * Guarantees: a record that is written inside a transaction is part of it, so an action and its record are stored together.
 */
import type { AuditOutcome } from "@corral/domain/access/Audit"
import type { Coded, ErrorCode } from "@corral/domain/errors/ErrorTable"
import { CurrentRequestId } from "@corral/domain/http/RequestContext"
import { CurrentPrincipal } from "@corral/domain/hub-api/SessionAuthority"
import { Clock, Context, Effect, Layer } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { appendRecord, type AuditedAction, type AuditEntry } from "./AuditChain.ts"

/** Fields of the record that only the result has, such as the id of a new resource. */
export type AuditedFields<A> = (
  result: A
) => Partial<Pick<AuditEntry, "actor" | "resource" | "projectId" | "details">>

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
        return yield* sql
          .withTransaction(
            Effect.tap(self, (result) =>
              record({ ...entry, ...fieldsOf?.(result), outcome: "allowed", code: null })
            )
          )
          .pipe(
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
