/** Names of users who have acted from a chat, shown instead of their ids. */
import { Clock, Context, Effect, Layer } from "effect"
import { SqlClient, type SqlError } from "effect/sql"

export class UserNames extends Context.Service<
  UserNames,
  {
    readonly remember: (userId: string, name: string) => Effect.Effect<void, SqlError.SqlError>
    readonly nameOf: (userId: string | undefined) => Effect.Effect<string | undefined, SqlError.SqlError>
  }
>()("corral/gateway/People") {
  static readonly layer = Layer.effect(
    UserNames,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const clock = yield* Clock.Clock
      return UserNames.of({
        remember: (userId, name) =>
          Effect.asVoid(sql`
            INSERT INTO people (user_id, name, seen_at)
            VALUES (${userId}, ${name}, ${new Date(clock.currentTimeMillisUnsafe())})
            ON CONFLICT (user_id) DO UPDATE SET name = EXCLUDED.name, seen_at = EXCLUDED.seen_at
            WHERE people.name <> EXCLUDED.name`),
        nameOf: Effect.fnUntraced(function* (userId) {
          if (userId === undefined) return undefined
          const [row] = yield* sql<{ readonly name: string }>`
            SELECT name FROM people WHERE user_id = ${userId}`
          return row?.name
        })
      })
    })
  )
}
