/**
 * End of a handler: a failure becomes its error object. A failed statement is not part of the contract: it becomes a defect, which the server answers
 * with `overloaded` if the database is unavailable, with `internal` otherwise. Also the refusal for a failed statement.
 *
 * A handler that can fail with anything else does not compile.
 */
import type { Coded, ErrorCode, ErrorObjectOf } from "@corral/domain/errors/ErrorTable"
import { type CurrentRequestId, withErrorObject } from "@corral/domain/http/RequestContext"
import { Effect } from "effect"
import { SqlError } from "effect/sql"
import type { HttpRefusal } from "@corral/service/http/Refusal"

// Refusal for a failed statement: `overloaded` if the database is unavailable; none for a fault of the Hub.

/**
 * Classes of SQLSTATE: connection exception, transaction rollback, insufficient resources, object not in prerequisite state, operator intervention. And a
 * server that takes no writes, and the limits of a transaction, which end one of a Hub that was paused.
 */
const unavailableState = /^(?:08|40|53|55|57|25006|25P03|25P04)/

const stateOf = ({ cause }: SqlError.SqlError["reason"]): string =>
  typeof cause === "object" && cause !== null && "code" in cause ? String(cause.code) : ""

export const storeRefusal = (defect: unknown): HttpRefusal | undefined =>
  defect instanceof SqlError.SqlError &&
  // A connection that is gone has no state.
  (defect.reason._tag === "ConnectionError" || unavailableState.test(stateOf(defect.reason)))
    ? { code: "overloaded" }
    : undefined

export const withErrorObjects = <A, R, Code extends ErrorCode = never>(
  self: Effect.Effect<A, Coded<Code> | SqlError.SqlError, R>
): Effect.Effect<A, ErrorObjectOf<Code>, R | CurrentRequestId> =>
  self.pipe(
    Effect.catch((error) => (error instanceof SqlError.SqlError ? Effect.die(error) : Effect.fail(error))),
    withErrorObject
  )
