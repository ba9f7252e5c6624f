/**
 * Ends a handler: a failure becomes its error object. A statement that failed is no failure of the contract's: it goes on as a defect, and
 * the server answers `overloaded` where the database was not there and `internal` for anything else.
 *
 * A handler that can fail with anything else does not compile.
 */
import type { Coded, ErrorCode, ErrorObjectOf } from "@corral/domain/errors/ErrorTable"
import { type CurrentRequestId, withErrorObject } from "@corral/domain/http/RequestContext"
import { Effect } from "effect"
import { SqlError } from "effect/sql"

type Failure = Coded<ErrorCode> | SqlError.SqlError
type CodeOf<E> = E extends Coded<infer C> ? C : never

/** All that a failure can be besides a failed statement has a code: the constraint says so. */
const isCoded = <E extends Failure>(error: E): error is E & Coded<CodeOf<E>> =>
  !(error instanceof SqlError.SqlError)

export const answered = <A, E extends Failure, R>(
  self: Effect.Effect<A, E, R>
): Effect.Effect<A, ErrorObjectOf<CodeOf<E>>, R | CurrentRequestId> =>
  self.pipe(
    Effect.catch((error): Effect.Effect<never, Coded<CodeOf<E>>> =>
      isCoded(error) ? Effect.fail(error) : Effect.die(error)
    ),
    withErrorObject
  )
