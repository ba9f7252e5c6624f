/** Names of users in a chat, shown instead of their ids: of those who have acted from a chat, and of members whom the account of a follow may see. */
import { Context, Effect, Layer, Schema } from "effect"
import type { SqlError } from "effect/sql"
import { Hub } from "../hub/Hub.ts"
import { queryRow, timedStore } from "../store/RowQueries.ts"
import type { Follow } from "./Follows.ts"

/** Codec of the table `people`. */
const UserNameRow = Schema.Struct({ name: Schema.String })

/** Names of users who have acted from a chat, shown instead of their ids. */
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

/** The name of a member of the run's project. */
const memberName = Effect.fn("UserNames.memberName")(function* ({ account, runId }: Follow, userId: string) {
  if (runId === undefined) return undefined
  const hub = yield* Hub
  const members = yield* hub.as(account, ({ projects, runs }) =>
    Effect.flatMap(runs.get({ params: { id: runId } }), ({ projectId }) =>
      projects.members({ params: { id: projectId }, query: { limit: 200 } })
    )
  )
  return members.items.find((member) => member.userId === userId)?.name
})

/** Names of users on cards, if the account of the follow may see them. A user's name; `undefined` if it is not known. */
export const nameOfUser = Effect.fn("UserNames.nameOfUser")(function* (
  follow: Follow,
  userId: string | undefined
) {
  const name = yield* (yield* UserNames).nameOf(userId)
  if (name !== undefined || userId?.startsWith("usr_") !== true) return name
  return yield* Effect.orElseSucceed(memberName(follow, userId), () => undefined)
})
