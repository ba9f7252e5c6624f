/**
 * Stored answer to an event, from the decision until it is sent. If sending fails, a retry sends this answer. The retry does not repeat the
 * action, which would fail as already done.
 */
import { Clock, Context, Effect, Layer, Schema } from "effect"
import { SqlClient, type SqlError } from "effect/sql"

const StoredAnswer = Schema.Struct({
  words: Schema.Struct({ en: Schema.String, zh: Schema.String }),
  /** For the person alone. */
  alone: Schema.Boolean
})
export type StoredAnswer = typeof StoredAnswer.Type

const encode = Schema.encodeSync(Schema.fromJsonString(StoredAnswer))
const decode = Schema.decodeUnknownSync(Schema.fromJsonString(StoredAnswer))

const DAY_MS = 86_400_000

export class StoredAnswers extends Context.Service<
  StoredAnswers,
  {
    /** Keeps the answer to the event with that key. */
    readonly keep: (key: string, answer: StoredAnswer) => Effect.Effect<void, SqlError.SqlError>
    readonly find: (key: string) => Effect.Effect<StoredAnswer | undefined, SqlError.SqlError>
    /** Deletes answers that are a day old. */
    readonly deleteOld: Effect.Effect<void, SqlError.SqlError>
  }
>()("corral/gateway/Answers") {
  static readonly layer = Layer.effect(
    StoredAnswers,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const clock = yield* Clock.Clock
      const ago = (millis: number) => new Date(clock.currentTimeMillisUnsafe() - millis)
      return StoredAnswers.of({
        keep: (key, answer) =>
          Effect.asVoid(sql`
            INSERT INTO answers ${sql.insert({ key, answer: encode(answer), decided_at: ago(0) })}
            ON CONFLICT (key) DO UPDATE SET answer = EXCLUDED.answer`),
        find: (key) =>
          Effect.map(
            sql<{ readonly answer: string }>`SELECT answer FROM answers WHERE key = ${key}`,
            ([row]) => (row === undefined ? undefined : decode(row.answer))
          ),
        deleteOld: Effect.suspend(() =>
          Effect.asVoid(sql`DELETE FROM answers WHERE decided_at < ${ago(DAY_MS)}`)
        )
      })
    })
  )
}
