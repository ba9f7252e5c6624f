/**
 * Work that all Hubs on a database do once together, such as deletion of what has expired: a row per work says when it is due, by the clock of the database.
 *
 * Guarantees: one Hub does the work in each interval. If that Hub ends meanwhile, another one does it in the next interval. Does not guarantee that two
 * Hubs never do it at the same time, because work may take longer than its interval: it must be safe beside itself.
 */
import { Duration, Effect, Schedule } from "effect"
import { SqlClient, type SqlError } from "effect/sql"

/** What is done, as its row and the log name it. Work that depends on a setting names it, so that a changed setting is due at once. */
export type SharedWorkName =
  | "candidates"
  | "commands"
  | "idempotency"
  | "limits"
  | `retention of ${number} days`
  | "uploads"

/** Whether the work is due. Then it is this Hub's until the interval ends. */
export const takeSharedWork = (
  sql: SqlClient.SqlClient,
  name: SharedWorkName,
  interval: Duration.Input
): Effect.Effect<boolean, SqlError.SqlError> =>
  Effect.map(
    sql`
      INSERT INTO shared_work AS work (name, due_at) VALUES (${name}, now() + make_interval(secs => ${secondsOf(interval)}))
      ON CONFLICT (name) DO UPDATE SET due_at = EXCLUDED.due_at WHERE work.due_at <= now() RETURNING name`,
    ({ length }) => length > 0
  )

/** A tenth less than the interval, so that the Hub that looks once in each interval never looks a moment too early. */
const secondsOf = (interval: Duration.Input): number => Duration.toSeconds(interval) * 0.9

/** Does the work in each interval in which no other Hub does, until the scope closes. A failure is logged. */
export const doSharedWork = Effect.fnUntraced(function* <E, R>(
  name: SharedWorkName,
  interval: Duration.Input,
  work: Effect.Effect<void, E, R>
) {
  const sql = yield* SqlClient.SqlClient
  yield* takeSharedWork(sql, name, interval).pipe(
    Effect.flatMap((isDue) => (isDue ? work : Effect.void)),
    Effect.catchCause((cause) => Effect.logWarning(`failed to do the shared work ${name}`, cause)),
    Effect.repeat(Schedule.spaced(interval)),
    Effect.forkScoped
  )
})
