/**
 * The other Hubs on the database, by the names of their connections.
 *
 * A Hub that crashes may have committed changes without sending their notices. The others look at everything when it disappears.
 */
import { Effect, Schedule, Schema } from "effect"
import type { SqlClient } from "effect/sql"
import { storedRows } from "./StoredRows.ts"

/** Part of the name of every Hub's connections, so that Hubs on one server see each other. */
export const HUB_APPLICATION = "corral-hub"

const nameRows = storedRows("pg_stat_activity", Schema.Struct({ name: Schema.String }))

/** Names of the Hubs that are connected to the database server. */
const hubNames = (sql: SqlClient.SqlClient) =>
  Effect.map(
    nameRows.all(sql`
      SELECT DISTINCT application_name AS name FROM pg_stat_activity
      WHERE application_name LIKE ${`${HUB_APPLICATION} %`} AND datname = current_database()`),
    (rows) => new Set(rows.map(({ name }) => name))
  )

/** Calls `onGone` when a Hub has disappeared, until the scope closes. `forget`: that Hub has stopped, and sent its notices. `look`: looks now. */
export const watchOtherHubs = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, onGone: () => void) {
  let lastNames: ReadonlySet<string> = new Set()
  const stopped = new Set<string>()
  const look = Effect.map(hubNames(sql), (names) => {
    const disappeared = [...lastNames].filter((name) => !names.has(name) && !stopped.delete(name))
    lastNames = names
    if (disappeared.length > 0) onGone()
  })
  yield* look.pipe(
    Effect.catchCause((cause) => Effect.logWarning("failed to look for other Hubs", cause)),
    Effect.repeat(Schedule.spaced("5 seconds")),
    Effect.forkScoped
  )
  return { forget: (name: string) => void stopped.add(name), look }
})
