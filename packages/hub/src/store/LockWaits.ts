/**
 * End of waits for locks while all connections are in use (ADR 113).
 *
 * Guarantees: statements that wait behind a transaction that does not move, such as one of a paused Hub, do not use up the connections of this Hub: they
 * are cancelled as soon as no connection is free, and their requests fail as `overloaded`.
 *
 * Does not: cancel a statement that waits in a queue that moves. While a connection is free, `lock_timeout` is the limit.
 */
import { Duration, Effect, Option } from "effect"
import type { SqlClient, SqlError } from "effect/sql"

/** Time within which a pool with a free connection lends it. */
const CONNECTION_WAIT = "50 millis"
/** Pause between two looks at the connections: after one was free, and after none was. A look costs an idle Hub CPU time. */
const PAUSE = Duration.millis(500)
const SHORT_PAUSE = Duration.millis(100)
/** Wait for one transaction after which its queue does not move. Longer than a commit of a loaded server. */
const STUCK_MS = 200

/** Whether the pool has no free connection. */
const isUsedUp = (pool: SqlClient.SqlClient): Effect.Effect<boolean> =>
  Effect.scoped(Effect.asVoid(pool.reserve)).pipe(
    Effect.timeoutOption(CONNECTION_WAIT),
    Effect.map(Option.isNone),
    // No server: connections are not the problem.
    Effect.orElseSucceed(() => false)
  )

/**
 * Cancels the statements of this Hub that wait behind a transaction that does not move. The first in the queue of a row waits for the transaction
 * that has the row, and each other one for the first: the first has waited for long only if that transaction does not move.
 */
const cancelStuck = (sql: SqlClient.SqlClient): Effect.Effect<number, SqlError.SqlError> =>
  Effect.map(
    sql`
      WITH waits AS MATERIALIZED (
        SELECT * FROM pg_locks WHERE NOT granted AND waitstart < clock_timestamp() - make_interval(secs => ${STUCK_MS / 1_000})
      ), stuck AS (
        SELECT pid FROM waits WHERE locktype <> 'tuple'
      ), behind AS (
        SELECT waits.pid FROM waits JOIN pg_locks AS first USING (locktype, database, relation, page, tuple)
        WHERE waits.locktype = 'tuple' AND first.granted AND first.pid IN (SELECT pid FROM stuck)
      )
      SELECT pg_cancel_backend(pid) FROM pg_stat_activity
      WHERE pid IN (SELECT pid FROM stuck UNION SELECT pid FROM behind)
        AND application_name = current_setting('application_name') AND wait_event_type = 'Lock'`,
    ({ length }) => length
  )

/** Looks at the pools until the scope closes. `control` has a connection that is always free. */
export const limitLockWaits = Effect.fnUntraced(function* (
  pools: ReadonlyArray<SqlClient.SqlClient>,
  control: SqlClient.SqlClient
) {
  const look = Effect.gen(function* () {
    const usedUp = yield* Effect.forEach(pools, isUsedUp, { concurrency: "unbounded" })
    if (!usedUp.includes(true)) return PAUSE
    const cancelled = yield* cancelStuck(control)
    if (cancelled > 0) yield* Effect.logWarning("cancelled statements that waited for locks", { cancelled })
    return SHORT_PAUSE
  })
  yield* look.pipe(
    Effect.catchCause((cause) =>
      Effect.as(Effect.logWarning("failed to look for waits for locks", cause), PAUSE)
    ),
    Effect.flatMap(Effect.sleep),
    Effect.forever,
    Effect.forkScoped
  )
})
