/**
 * Start on a PostgreSQL server: the wait for one that recovers, its settings, the statements and the check of its migrations, whether it takes
 * writes, and the sentence for an operator.
 *
 * Guarantees: gives up after half a minute, with the server's own refusal. Other errors fail immediately.
 */
import { Effect, Redacted, Schedule } from "effect"
import { SqlClient, SqlError } from "effect/sql"

// Check that PostgreSQL has the settings that a service sends with each connection. A pooler such as PgBouncer discards those that it does not know, if its
// operator allows that; statements would then find other tables, or none of the notices of other services.

/**
 * Limits of each connection, as PostgreSQL prints them: on waiting for a lock, on a statement, and on a transaction whose service is paused or gone.
 * Without them, one locked row or one paused service stops all others. A commit that waits for its standby has no limit.
 */
export const connectionLimits = {
  lock_timeout: "2s",
  statement_timeout: "5s",
  idle_in_transaction_session_timeout: "5s"
} as const

/** Sentence for an operator if a setting is missing. */
export const connectionSettingsProblem = (
  sql: SqlClient.SqlClient,
  settings: Readonly<Record<string, string>>
): Effect.Effect<string | undefined, SqlError.SqlError> =>
  Effect.map(
    sql<{ readonly name: string; readonly value: string | null }>`
      SELECT name, current_setting(name, true) AS value FROM unnest(${Object.keys(settings)}::text[]) AS s (name)`,
    (rows) => {
      const discarded = rows.flatMap(({ name, value }) => (value === settings[name] ? [] : [name]))
      return discarded.length === 0
        ? undefined
        : `A pooler in front of the database discards settings of connections (${discarded.join(", ")}). ` +
            "Connect to PostgreSQL directly, or through a proxy that forwards connections as they are."
    }
  )

// Whether a PostgreSQL server takes writes: with a temporary file and a durable record of its log, both without a trace in tables.
//
// Fails on a full disk before each statement does: a server has room in files that it has enlarged before, so small writes still work for a
// while. Also fails on a read-only standby server.

/** Rows of a set that does not fit into 64 KB of memory: about 1 MB in a temporary file. */
const ROWS = 60_000

export const probeWrites = (sql: SqlClient.SqlClient): Effect.Effect<void, SqlError.SqlError> =>
  Effect.gen(function* () {
    yield* sql`SELECT set_config('work_mem', '64kB', true)`
    yield* sql`SELECT count(*) FROM generate_series(1, ${sql.literal(String(ROWS))})`
    yield* sql`SELECT pg_logical_emit_message(true, 'corral', 'probe')::text`
  }).pipe(sql.withTransaction, Effect.asVoid)

// Sentence for an operator: which PostgreSQL cannot be used, and the error of it or of the system. Never contains its password.

/** A database without an address is the embedded one. */
export const databaseProblem = (error: SqlError.SqlError, address: Redacted.Redacted | undefined): string => {
  const { cause, message } = error.reason
  const url = address === undefined ? undefined : URL.parse(Redacted.value(address))
  const { code, message: causeMessage } = (typeof cause === "object" && cause !== null ? cause : {}) as {
    readonly code?: unknown
    readonly message?: unknown
  }
  // The error of a host with several addresses has a code and no message.
  const text =
    [causeMessage, code, message].find((each) => typeof each === "string" && each !== "") ?? error.message
  const which = url ? ` ${url.pathname.slice(1)} at ${url.hostname}:${url.port || "5432"}` : ""
  const secret = url ? decodeSafely(url.password) : ""
  const why = secret !== "" && String(text).includes(secret) ? error.reason._tag : text
  return `The database${which} cannot be used: ${why}`
}

const decodeSafely = (text: string): string => {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

// Check that a database has no migrations of a later version. Later migrations may have changed what this version reads and writes, so a service does
// not start on it.

/** `table`: of the applied migrations. `applicable`: names of this version's migrations, such as `0001_people`. Returns a sentence, or `undefined`. */
export const newerDatabaseProblem = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  table: string,
  applicable: ReadonlyArray<string>
): Effect.fn.Return<string | undefined, SqlError.SqlError> {
  const [found] = yield* sql<{ readonly exists: boolean }>`SELECT to_regclass(${table}) IS NOT NULL AS exists`
  if (found?.exists !== true) return undefined
  const newest = Math.max(0, ...applicable.map((name) => Number(name.slice(0, 4))))
  const [later] = yield* sql<{ readonly name: string }>`
    SELECT name FROM ${sql(table)} WHERE migration_id > ${newest} ORDER BY migration_id DESC LIMIT 1`
  return later === undefined
    ? undefined
    : `The database belongs to a later version of Corral: it has the migration ${later.name}. Start that version, or restore the backup that was made before its upgrade.`
})

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

/** Statements of a migration, in their order. */
export const executeAll = (
  statements: ReadonlyArray<string>
): Effect.Effect<void, SqlError.SqlError, SqlClient.SqlClient> =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    for (const statement of statements) yield* sql.unsafe(statement)
  })
