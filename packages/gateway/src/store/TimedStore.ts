/** The store together with the clock that dates its rows. */
import { Clock, Effect } from "effect"
import { SqlClient } from "effect/sql"

export interface TimedStore {
  readonly sql: SqlClient.SqlClient
  /** Now, plus a number of milliseconds. */
  readonly at: (millis?: number) => Date
}

export const timedStore = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const clock = yield* Clock.Clock
  const store: TimedStore = { sql, at: (millis = 0) => new Date(clock.currentTimeMillisUnsafe() + millis) }
  return store
})
