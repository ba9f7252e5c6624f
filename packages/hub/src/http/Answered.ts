/**
 * Ends a handler: a failure becomes its error object. A statement that failed is no failure of the contract's: it goes on as a defect, and
 * the server answers `overloaded` where the database was not there and `internal` for anything else.
 */
import type { Coded, ErrorObjectOf } from "@corral/domain/ErrorTable"
import { type CurrentRequestId, withErrorObject } from "@corral/domain/RequestContext"
import { Effect } from "effect"
import { SqlError } from "effect/sql"

type CodeOf<E> = E extends Coded<infer C> ? C : never

export const answered = <A, E, R>(
  self: Effect.Effect<A, E, R>
): Effect.Effect<A, ErrorObjectOf<CodeOf<E>>, R | CurrentRequestId> => {
  const stored = self.pipe(
    Effect.catch((error) =>
      error instanceof SqlError.SqlError
        ? Effect.die(error)
        : // What is no statement's failure has a code: the endpoint's own errors are all that it may come to.
          Effect.fail(error as Coded<CodeOf<E>>)
    )
  )
  return withErrorObject(stored)
}
