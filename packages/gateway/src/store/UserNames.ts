/** Names of users who have acted from a chat, shown instead of their ids. */
import { Context, Effect, Layer, Schema } from "effect"
import type { SqlError } from "effect/sql"
import { queryRow, timedStore } from "./RowQueries.ts"

/** Codec of the table `people`. */
const UserNameRow = Schema.Struct({ name: Schema.String })

export class UserNames extends Context.Service<
  UserNames,
  {
    readonly remember: (userId: string, name: string) => Effect.Effect<void, SqlError.SqlError>
    readonly nameOf: (userId: string | undefined) => Effect.Effect<string | undefined, SqlError.SqlError>
  }
>()("corral/gateway/UserNames") {
  static readonly layer = Layer.effect(
    UserNames,
    Effect.gen(function* () {
      const { at, sql } = yield* timedStore
      const find = queryRow({
        Request: Schema.String,
        Result: UserNameRow,
        execute: (userId) => sql`SELECT name FROM people WHERE user_id = ${userId}`
      })
      return UserNames.of({
        remember: Effect.fn("UserNames.remember")(function* (userId, name) {
          yield* sql`
            INSERT INTO people (user_id, name, seen_at) VALUES (${userId}, ${name}, ${at()})
            ON CONFLICT (user_id) DO UPDATE SET name = EXCLUDED.name, seen_at = EXCLUDED.seen_at
            WHERE people.name <> EXCLUDED.name`
        }),
        nameOf: Effect.fn("UserNames.nameOf")(function* (userId) {
          return userId === undefined ? undefined : (yield* find(userId))?.name
        })
      })
    })
  )
}
