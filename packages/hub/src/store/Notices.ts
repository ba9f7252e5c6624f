/**
 * Exchange of notices between Hubs, through the database. One connection sends what the outbox of this process holds, and listens for all its
 * followers. Notices of this process reach them without the database.
 *
 * Does not guarantee delivery: a notice is a hint to look, not data. Notices between two connections are lost, and so are those that a Hub did
 * not send before it crashed. Followers learn both through `onMissed`.
 */
import { PgClient, PgConnection } from "@effect/sql-pg"
import { Context, Deferred, Effect, Exit, Latch, Layer, Queue } from "effect"
import { type NoticeKind, type NoticeOutbox, channels, noticeOutboxOf } from "./Notice.ts"
import { watchOtherHubs } from "./OtherHubs.ts"

const kinds = Object.keys(channels) as ReadonlyArray<NoticeKind>

/**
 * Pause after each statement with notices. Each costs a commit, and wakes a connection of every other Hub: under load, more notices share one. A notice that
 * comes later than this after the one before is sent immediately.
 */
const GAP = "5 millis"

export interface NoticeFollower {
  /** `isOwn`: the notice is of this Hub. */
  readonly onNotice: (kind: NoticeKind, payload: string, isOwn: boolean) => void
  /** Notices may have been lost: look at everything. */
  readonly onMissed: () => void
}

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
