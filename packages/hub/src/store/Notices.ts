/**
 * Notices of Hubs to each other, through the database. One connection listens for all followers of this process.
 *
 * Does not guarantee delivery: a notice is a hint to look, not data. Notices between two connections are lost, and followers learn that
 * through `onMissed`.
 */
import { PgClient, PgConnection } from "@effect/sql-pg"
import { Context, Deferred, Effect, Layer, Queue } from "effect"
import type { SqlError } from "effect/sql"
import { channels, type NoticeKind } from "./Notice.ts"

const kinds = Object.keys(channels) as ReadonlyArray<NoticeKind>

export interface NoticeFollower {
  readonly onNotice: (kind: NoticeKind, payload: string) => void
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
      const { config } = yield* PgClient.PgClient
      const followers = new Set<NoticeFollower>()
      const attempted = yield* Deferred.make<void>()

      const deliver = (
        kind: NoticeKind,
        notices: Queue.Dequeue<PgConnection.Notification, SqlError.SqlError>
      ) =>
        Effect.forever(
          Effect.map(Queue.take(notices), ({ payload }) => {
            for (const follower of followers) follower.onNotice(kind, payload)
          })
        )

      const listening = Effect.gen(function* () {
        // Not from the pool, since it stays open as long as the Hub. It never sends, so only keep-alive detects a lost server.
        const session = yield* PgConnection.make({ ...config, keepAlive: "10 seconds" })
        const connection = yield* session.pin
        const deliveries = yield* Effect.forEach(kinds, (kind) =>
          Effect.map(connection.listen(channels[kind]), (notices) => deliver(kind, notices))
        )
        for (const follower of followers) follower.onMissed()
        yield* Deferred.succeed(attempted, undefined)
        yield* Effect.all(deliveries, { concurrency: "unbounded", discard: true })
      }).pipe(Effect.scoped)

      yield* listening.pipe(
        Effect.catch((error) => Effect.logWarning("failed to listen for notices", error)),
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
