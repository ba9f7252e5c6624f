/**
 * Check that PostgreSQL has the settings that a service sends with each connection. A pooler such as PgBouncer discards those that it does not know, if its
 * operator allows that; statements would then find other tables, or none of the notices of other services.
 */
import { Effect } from "effect"
import type { SqlClient, SqlError } from "effect/sql"

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
