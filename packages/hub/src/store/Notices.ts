/**
 * Notices from one Hub to all Hubs on the same database, so that each can serve its own connections, and their exchange through the database. A
 * notice is a hint to look, not data. One connection sends what the outbox of this process holds, and listens for all followers. Notices of this
 * process reach them without the database.
 *
 * Does not guarantee delivery: a notice is sent after the commit, and a Hub that crashes in between does not send it. Notices between two
 * connections are lost, too. Other Hubs, which know each other by the names of their connections, look at everything when a Hub disappears, and
 * followers learn of what is lost through `onMissed`.
 */
import { PgClient, PgConnection } from "@effect/sql-pg"
import { Context, Deferred, Effect, Exit, Latch, Layer, Queue, Schedule, Schema } from "effect"
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

// Notices of this process that other Hubs have not received yet.
//
// Guarantees: followers in this process receive a notice immediately. A notice that is added again before it was sent is sent once.
// Does not send: `Notices` does, outside of the transaction that caused the notice. PostgreSQL commits transactions with notices one after the
// other across the server.

class NoticeOutbox {
  /** Passes a notice to the followers in this process. */
  deliver: (kind: NoticeKind, payload: string) => void = () => undefined
  /** The outbox is no longer empty. */
  wake: () => void = () => undefined
  private readonly pending = new Map<NoticeKind, Set<string>>()

  add(kind: NoticeKind, payloads: ReadonlyArray<string>): void {
    if (payloads.length === 0) return
    this.hold(kind, payloads)
    for (const payload of payloads) this.deliver(kind, payload)
    this.wake()
  }

  /** Takes everything that waits. */
  take(): ReadonlyArray<readonly [NoticeKind, string]> {
    const taken = [...this.pending].flatMap(([kind, payloads]) =>
      [...payloads].map((payload) => [kind, payload] as const)
    )
    this.pending.clear()
    return taken
  }

  /** Takes back what could not be sent. */
  restore(notices: ReadonlyArray<readonly [NoticeKind, string]>): void {
    for (const [kind, payload] of notices) this.hold(kind, [payload])
  }

  private hold(kind: NoticeKind, payloads: ReadonlyArray<string>): void {
    const held = this.pending.get(kind) ?? new Set<string>()
    for (const payload of payloads) held.add(payload)
    this.pending.set(kind, held)
  }
}

const outboxes = new WeakMap<SqlClient.SqlClient, NoticeOutbox>()

/** The outbox of the client's database in this process. */
const noticeOutboxOf = (sql: SqlClient.SqlClient): NoticeOutbox => {
  const existing = outboxes.get(sql)
  if (existing !== undefined) return existing
  const outbox = new NoticeOutbox()
  outboxes.set(sql, outbox)
  return outbox
}

/** Lets a second client of the same database use the outbox of the first. */
export const shareOutbox = (first: SqlClient.SqlClient, second: SqlClient.SqlClient): void => {
  outboxes.set(second, noticeOutboxOf(first))
}

/** The channels of PostgreSQL's LISTEN and NOTIFY. */
export const channels = {
  /** A message was added or changed: `<session id> <message id>`. */
  message: "corral_message",
  /** A session was renamed, archived or opened again, or has other agents: its id. */
  session: "corral_session",
  /** A run's log has grown: `<run id>`, or `<run id> <session id>`. */
  run: "corral_run",
  /** A sign-in, an API key or a chat binding was ended: its id. Expiry by time sends no notice. */
  signInEnded: "corral_sign_in_ended",
  /** Members or permissions of a project have changed: its id. */
  membership: "corral_membership",
  /** The preferences of a user have changed: the user's id. */
  preferences: "corral_preferences",
  /** An approval was requested or resolved: its id. */
  approval: "corral_approval",
  /** A question was asked or resolved: its id. */
  input: "corral_input",
  /** A change set or a decision about it was reported: the set's id. */
  changes: "corral_changes",
  /** The state of a task has changed: its id. */
  task: "corral_task",
  /** The state of a run, its turn, its questions or its work in the background have changed: its id. */
  runState: "corral_run_state",
  /** Runs of a project have used something, or its limits have changed: the project's id. */
  usage: "corral_usage",
  /** A limit is nearly or completely used up: `<project id> <whose limit> <day>`. */
  limit: "corral_limit",
  /** A device was revoked or removed: its id. */
  deviceEnded: "corral_device_ended",
  /** A device went online or offline, or has a newer link: its id. */
  presence: "corral_presence",
  /** A device has a new command: the device's id. */
  command: "corral_command",
  /** A command was answered: its id. */
  commandDone: "corral_command_done",
  /** A Hub has stopped and sent all its notices: the name of its connections. */
  hubStopped: "corral_hub_stopped"
} as const
export type NoticeKind = keyof typeof channels

/** Sends notices once the surrounding transaction has committed. A rolled-back transaction sends nothing. */
export const notify = (
  sql: SqlClient.SqlClient,
  kind: NoticeKind,
  ...payloads: ReadonlyArray<string>
): Effect.Effect<void> =>
  payloads.length === 0
    ? Effect.void
    : sql.afterCommit(Effect.sync(() => noticeOutboxOf(sql).add(kind, payloads)))

/**
 * Runs a statement that returns the `id` of each row that it has written, and sends these ids, as `notify` does. It is not interrupted: PostgreSQL
 * may have committed the statement already, and other Hubs would not look.
 */
export const announced = <Row extends object, E, R>(
  sql: SqlClient.SqlClient,
  kind: NoticeKind,
  statement: Effect.Effect<ReadonlyArray<Row>, E, R>
): Effect.Effect<ReadonlyArray<Row>, E, R> =>
  // Ids are text, and the caller's statement returns them.
  Effect.uninterruptible(
    Effect.tap(statement, (rows) =>
      notify(sql, kind, ...rows.map((row) => (row as { readonly id: string }).id))
    )
  )

const kinds = Object.keys(channels) as ReadonlyArray<NoticeKind>

/**
 * Pause after each statement with notices. Each costs a commit, and wakes a connection of every other Hub: under load, more notices share one. A notice that
 * comes later than this after the one before is sent immediately.
 */
const GAP = "5 millis"

interface NoticeFollower {
  /** `isOwn`: the notice is of this Hub. */
  readonly onNotice: (kind: NoticeKind, payload: string, isOwn: boolean) => void
  /** Notices may have been lost: look at everything. */
  readonly onMissed: () => void
}

/** Exchange of notices between Hubs, through the database. Followers of this process learn of a loss through `onMissed`. */
export class Notices extends Context.Service<
  Notices,
  {
    /** Adds a follower. It must not block and must not throw. */
    readonly follow: (follower: NoticeFollower) => void
  }
>()("corral/hub/Notices") {
  static readonly layer = Layer.effect(
    Notices,
    Effect.gen(function* () {
      const client = yield* PgClient.PgClient
      const { config } = client
      const outbox = noticeOutboxOf(client)
      const followers = new Set<NoticeFollower>()
      const attempted = yield* Deferred.make<void>()
      const waiting = Latch.makeUnsafe(false)
      outbox.wake = () => void waiting.openUnsafe()
      const onMissed = () => {
        for (const follower of followers) follower.onMissed()
      }
      const others = yield* watchOtherHubs(client, onMissed)
      const deliver = (kind: NoticeKind, payload: string, isOwn: boolean): void => {
        if (kind === "hubStopped") others.forget(payload)
        else for (const follower of followers) follower.onNotice(kind, payload, isOwn)
      }
      outbox.deliver = (kind, payload) => deliver(kind, payload, true)

      const listening = Effect.gen(function* () {
        // Not from the pool, since it stays open as long as the Hub.
        const session = yield* PgConnection.make(config)
        const connection = yield* session.pin
        const deliveries = yield* Effect.forEach(kinds, (kind) =>
          Effect.map(connection.listen(channels[kind]), (notices) =>
            Effect.forever(
              Effect.map(Queue.take(notices), ({ payload, processId }) => {
                // Followers in this process have it already.
                if (processId !== connection.processId) deliver(kind, payload, false)
              })
            )
          )
        )
        yield* Effect.addFinalizer(() => sendLast(outbox, connection, config.applicationName))
        onMissed()
        yield* Deferred.succeed(attempted, undefined)
        const sending = Effect.forever(
          Effect.andThen(
            waiting.await,
            Effect.suspend(() => {
              waiting.closeUnsafe()
              return Effect.andThen(sendAll(outbox, connection), Effect.sleep(GAP))
            })
          )
        )
        waiting.openUnsafe()
        yield* Effect.all([...deliveries, sending], { concurrency: "unbounded", discard: true })
      }).pipe(Effect.scoped)

      yield* listening.pipe(
        Effect.catch((error) => Effect.logWarning("failed to exchange notices", error)),
        Effect.andThen(Deferred.succeed(attempted, undefined)),
        Effect.andThen(Effect.sleep("1 second")),
        Effect.forever,
        Effect.forkScoped
      )
      // Callers must not follow before the first attempt: they would miss notices.
      yield* Deferred.await(attempted)
      return Notices.of({ follow: (follower) => void followers.add(follower) })
    })
  )
}

/** Sends what waits, in one statement. What is added meanwhile is sent by the next one. */
const sendAll = (outbox: NoticeOutbox, connection: PgConnection.PgConnection) =>
  Effect.suspend(() => {
    const notices = outbox.take()
    if (notices.length === 0) return Effect.void
    return connection
      .query(
        "SELECT pg_notify(channel, payload) FROM unnest($1::text[], $2::text[]) AS notice (channel, payload)",
        [notices.map(([kind]) => channels[kind]), notices.map(([, payload]) => payload)]
      )
      .pipe(
        Effect.onExit((exit) =>
          Effect.sync(() => {
            if (Exit.isFailure(exit)) outbox.restore(notices)
          })
        )
      )
  })

/** Sends what waits when this Hub stops, and that no notice of it is missing. */
const sendLast = (outbox: NoticeOutbox, connection: PgConnection.PgConnection, name: string | undefined) =>
  Effect.suspend(() => {
    if (name !== undefined) outbox.add("hubStopped", [name])
    return sendAll(outbox, connection)
  }).pipe(Effect.timeoutOption("1 second"), Effect.ignore)
