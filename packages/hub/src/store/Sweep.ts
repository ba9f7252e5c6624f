/**
 * Pass over the due rows of a table, page by page in the order of a key.
 *
 * Guarantees: a row that stays due holds up no other row, because each pass continues after it. A row that fails is logged, and the pass continues.
 * Rows that are locked delay a pass by a second at most: its patience halves with each row that fails.
 */
import { Effect } from "effect"
import type { SqlClient, SqlError } from "effect/sql"

/** Longest wait for the locks of a row. */
export const LOCK_PATIENCE_MS = 500

/** First statement of a visit's transaction: limits its waits for locks. */
export const limitLockWait = (
  sql: SqlClient.SqlClient,
  patienceMs: number
): Effect.Effect<void, SqlError.SqlError> =>
  Effect.asVoid(sql`SELECT set_config('lock_timeout', ${`${patienceMs}ms`}, true)`)

export interface SweptRows<Row, E, R, VE, VR> {
  /** The next due rows whose key is greater, in the order of their keys. An empty page ends the pass. */
  readonly page: (after: string) => Effect.Effect<ReadonlyArray<Row>, E, R>
  readonly keyOf: (row: Row) => string
  /** Returns whether the row has changed. */
  readonly visit: (row: Row, patienceMs: number) => Effect.Effect<boolean, VE, VR>
  /** For the log: what failed with a row. */
  readonly failure: string
}

/** Visits all due rows once. Returns whether one has changed. */
export const sweepRows = Effect.fnUntraced(function* <Row extends object, E, R, VE, VR>({
  failure,
  keyOf,
  page,
  visit
}: SweptRows<Row, E, R, VE, VR>): Effect.fn.Return<boolean, E, R | VR> {
  let hasChanged = false
  let after = ""
  let patienceMs = LOCK_PATIENCE_MS
  while (true) {
    const rows = yield* page(after)
    for (const row of rows) {
      const isChanged = yield* visit(row, patienceMs).pipe(
        Effect.catchCause((cause) => {
          patienceMs = Math.ceil(patienceMs / 2)
          return Effect.as(Effect.logError(failure, { row: keyOf(row) }, cause), false)
        })
      )
      hasChanged ||= isChanged
    }
    const last = rows.at(-1)
    if (last === undefined) return hasChanged
    after = keyOf(last)
  }
})
