/**
 * What Hubs tell each other through the database, so that live sockets of any of them can act on it. A notice is a hint to look, never the
 * news itself.
 */
import { Effect } from "effect"
import type { SqlClient, SqlError, Statement } from "effect/sql"

/** The channels of PostgreSQL's LISTEN and NOTIFY. */
export const channels = {
  /** A run's log has grown: `<run id>`, or `<run id> <session id>`. */
  run: "corral_run",
  /** A sign-in, an API key or a chat binding was ended: its id. Expiry by time tells nothing. */
  signInEnded: "corral_sign_in_ended",
  /** Who may do what in a project has changed: its id. */
  membership: "corral_membership",
  /** An approval is asked for or resolved: its id. */
  approval: "corral_approval",
  /** A task has another state: its id. */
  task: "corral_task",
  /** A run has another state: its id. */
  runState: "corral_run_state",
  /** A device was revoked or removed: its id. */
  deviceEnded: "corral_device_ended",
  /** A device has come or gone, or has a newer link: its id. */
  presence: "corral_presence",
  /** There is a command for a device: its id. */
  command: "corral_command",
  /** A command was answered: its id. */
  commandDone: "corral_command_done"
} as const
export type NoticeKind = keyof typeof channels

/** Heard when the transaction that it is part of commits, and not at all where it does not. */
export const notify = (
  sql: SqlClient.SqlClient,
  kind: NoticeKind,
  payload: string
): Effect.Effect<void, SqlError.SqlError> =>
  Effect.asVoid(sql`SELECT pg_notify(${channels[kind]}, ${payload})`)

/** For the `RETURNING` of a statement: tells the `id` of each row that it wrote, as `notify` does. */
export const noticeOf = (sql: SqlClient.SqlClient, kind: NoticeKind): Statement.Fragment =>
  sql`pg_notify(${channels[kind]}, id)`
