/**
 * Notices from one Hub to all Hubs on the same database, so that each can serve its own connections. A notice is a hint to look, not data.
 */
import { Effect } from "effect"
import type { SqlClient, SqlError, Statement } from "effect/sql"

/** The channels of PostgreSQL's LISTEN and NOTIFY. */
export const channels = {
  /** A message was added or changed: `<session id> <message id>`. */
  message: "corral_message",
  /** A run's log has grown: `<run id>`, or `<run id> <session id>`. */
  run: "corral_run",
  /** A sign-in, an API key or a chat binding was ended: its id. Expiry by time sends no notice. */
  signInEnded: "corral_sign_in_ended",
  /** Members or permissions of a project have changed: its id. */
  membership: "corral_membership",
  /** An approval was requested or resolved: its id. */
  approval: "corral_approval",
  /** The state of a task has changed: its id. */
  task: "corral_task",
  /** The state of a run has changed: its id. */
  runState: "corral_run_state",
  /** A device was revoked or removed: its id. */
  deviceEnded: "corral_device_ended",
  /** A device went online or offline, or has a newer link: its id. */
  presence: "corral_presence",
  /** A device has a new command: the device's id. */
  command: "corral_command",
  /** A command was answered: its id. */
  commandDone: "corral_command_done"
} as const
export type NoticeKind = keyof typeof channels

/** Delivered when the surrounding transaction commits. A rolled-back transaction sends nothing. */
export const notify = (
  sql: SqlClient.SqlClient,
  kind: NoticeKind,
  payload: string
): Effect.Effect<void, SqlError.SqlError> =>
  Effect.asVoid(sql`SELECT pg_notify(${channels[kind]}, ${payload})`)

/** For a `RETURNING` clause: sends the `id` of each written row, as `notify` does. */
export const noticeOf = (sql: SqlClient.SqlClient, kind: NoticeKind): Statement.Fragment =>
  sql`pg_notify(${channels[kind]}, id)`
