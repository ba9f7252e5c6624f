/**
 * Wait for a PostgreSQL server that starts. After a crash it recovers first, and refuses connections until then: a service that starts at the
 * same time waits for it.
 *
 * Guarantees: gives up after half a minute, with the server's own refusal. Other errors fail immediately.
 */
import { Effect, Schedule } from "effect"
import { SqlError } from "effect/sql"

/** `cannot_connect_now`: the server starts, recovers or stops. */
const CANNOT_CONNECT_NOW = "57P03"

const isStarting = ({ reason: { cause } }: SqlError.SqlError): boolean =>
  typeof cause === "object" && cause !== null && "code" in cause && cause.code === CANNOT_CONNECT_NOW

/** Repeats the first queries of a service until the server accepts them. They must be repeatable. */
export const whenServing = <A, E, R>(
  queries: Effect.Effect<A, E | SqlError.SqlError, R>
): Effect.Effect<A, E | SqlError.SqlError, R> =>
  Effect.retry(queries, {
    while: (error) => SqlError.isSqlError(error) && isStarting(error),
    schedule: Schedule.spaced("100 millis"),
    times: 300
  })
