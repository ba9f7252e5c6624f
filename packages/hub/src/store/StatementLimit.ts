/** Limit on statements that serve many requests at once. */
import { Duration, Effect } from "effect"
import { SqlError } from "effect/sql"

/**
 * A statement that waits longer has lost its server without notice, or waits for a standby that is gone. Its requests fail, their links end, and
 * the Edges ask again.
 */
const STATEMENT_LIMIT = Duration.seconds(60)

export const withinStatementLimit = Effect.timeoutOrElse({
  duration: STATEMENT_LIMIT,
  orElse: () =>
    Effect.fail(
      new SqlError.SqlError({ reason: new SqlError.ConnectionError({ cause: "no answer in time" }) })
    )
})
