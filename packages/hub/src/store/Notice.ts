/** What Hubs tell each other through the database, so that live sockets of any of them can act on it. */
import { Effect } from "effect"
import type { SqlClient, SqlError } from "effect/sql"

/**
 * `corral_membership`: who may do what in a project has changed; its id. `corral_device_ended`: a device was revoked or removed; its id.
 */
export type Channel = "corral_membership" | "corral_device_ended"

/** Heard when the transaction that it is part of commits, and not at all where it does not. */
export const notify = (
  sql: SqlClient.SqlClient,
  channel: Channel,
  payload: string
): Effect.Effect<void, SqlError.SqlError> => Effect.asVoid(sql`SELECT pg_notify(${channel}, ${payload})`)
