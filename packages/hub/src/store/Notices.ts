/**
 * What Hubs tell each other through the database: one connection that listens, for everything of this process that wants to know.
 *
 * A notice is a hint to look, never the news itself. Between two connections notices are lost: whoever follows is told that too.
 */
import { PgClient, PgConnection } from "@effect/sql-pg"
import { Context, Deferred, Effect, Layer, Queue } from "effect"
import type { SqlError } from "effect/sql"
import { channels, type NoticeKind } from "./Notice.ts"

const kinds = Object.keys(channels) as ReadonlyArray<NoticeKind>

export interface NoticeFollower {
  readonly onNotice: (kind: NoticeKind, payload: string) => void
  /** There may have been notices that nobody heard: look at everything. */
  readonly onMissed: () => void
}

export class Notices extends Context.Service<
  Notices,
  {
    /** Tells the follower from now on. It must not block and must not throw. */
    readonly follow: (follower: NoticeFollower) => void
  }
>()("corral/hub/Notices") {
  static readonly layer = Layer.effect(
    Notices,
    Effect.gen(function* () {
      const { config } = yield* PgClient.PgClient
      const followers = new Set<NoticeFollower>()
      const tried = yield* Deferred.make<void>()

      const tellAll = (
        kind: NoticeKind,
        notices: Queue.Dequeue<PgConnection.Notification, SqlError.SqlError>
      ) =>
        Effect.forever(
          Effect.map(Queue.take(notices), ({ payload }) => {
            for (const follower of followers) follower.onNotice(kind, payload)
          })
        )

      const listening = Effect.gen(function* () {
        // Not of the pool: it is held as long as the Hub lives. It only hears, so nothing but this tells that the other side has gone.
        const session = yield* PgConnection.make({ ...config, keepAlive: "10 seconds" })
        const connection = yield* session.pin
        const heard = yield* Effect.forEach(kinds, (kind) =>
          Effect.map(connection.listen(channels[kind]), (notices) => tellAll(kind, notices))
        )
        for (const follower of followers) follower.onMissed()
        yield* Deferred.succeed(tried, undefined)
        yield* Effect.all(heard, { concurrency: "unbounded", discard: true })
      }).pipe(Effect.scoped)

      yield* listening.pipe(
        Effect.catch((error) => Effect.logWarning("the database's notices are not heard", error)),
        Effect.andThen(Deferred.succeed(tried, undefined)),
        Effect.andThen(Effect.sleep("1 second")),
        Effect.forever,
        Effect.forkScoped
      )
      // Who came before it hears would have to be sent away again.
      yield* Deferred.await(tried)
      return Notices.of({ follow: (follower) => void followers.add(follower) })
    })
  )
}
