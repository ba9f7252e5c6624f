/**
 * End of a handler: a failure becomes its error object. A failed statement is not part of the contract: it becomes a defect, which the
 * server answers with `overloaded` if the database is unavailable, with `internal` otherwise.
 *
 * A handler that can fail with anything else does not compile.
 */
import type { Coded, ErrorCode, ErrorObjectOf } from "@corral/domain/errors/ErrorTable"
import { type CurrentRequestId, withErrorObject } from "@corral/domain/http/RequestContext"
import { Effect } from "effect"
import { SqlError } from "effect/sql"

export const withErrorObjects = <A, R, Code extends ErrorCode = never>(
  self: Effect.Effect<A, Coded<Code> | SqlError.SqlError, R>
): Effect.Effect<A, ErrorObjectOf<Code>, R | CurrentRequestId> =>
  self.pipe(
    Effect.catch((error) => (error instanceof SqlError.SqlError ? Effect.die(error) : Effect.fail(error))),
    withErrorObject
  )
