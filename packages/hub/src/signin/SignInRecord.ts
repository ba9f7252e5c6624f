/** Context that the parts of `SignInStore` share: the database, the time and the audit record of a change. */
import type { AuditAction } from "@corral/domain/access/AuditAction"
import { CurrentRequestId } from "@corral/domain/http/RequestContext"
import { mint } from "@corral/service/Identifiers"
import { Clock, Effect, Option } from "effect"
import { SqlClient } from "effect/sql"
import { Audit } from "../audit/Audit.ts"

export type SignInContext = Effect.Success<typeof signInContext>

export const signInContext = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const audit = yield* Audit
  const clock = yield* Clock.Clock

  return {
    sql,
    now: () => new Date(clock.currentTimeMillisUnsafe()),

    /** Records a change as part of the current transaction. */
    record: Effect.fnUntraced(function* (action: AuditAction, actor: string, signInId: string) {
      const requestId = yield* Effect.serviceOption(CurrentRequestId)
      yield* audit.record({
        action,
        actor,
        resource: signInId,
        projectId: null,
        outcome: "allowed",
        code: null,
        requestId: Option.getOrElse(requestId, () => mint("req", clock.currentTimeMillisUnsafe()))
      })
    })
  }
})

/** Condition of the rows that are valid at a time. */
export const isValidAt = (sql: SqlClient.SqlClient, at: Date) =>
  sql`revoked_at IS NULL AND idle_until > ${at} AND cap_at > ${at}`
