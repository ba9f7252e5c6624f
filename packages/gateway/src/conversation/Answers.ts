/**
 * Stored answer to an event, from the decision until it is sent. If sending fails, a retry sends this answer. The retry does not repeat the
 * action, which would fail as already done.
 */
import { Clock, Context, Effect, Layer, Schema } from "effect"
import { SqlClient, type SqlError } from "effect/sql"

const Answer = Schema.Struct({
  words: Schema.Struct({ en: Schema.String, zh: Schema.String }),
  /** For the person alone. */
  alone: Schema.Boolean
})
export type Answer = typeof Answer.Type

const encode = Schema.encodeSync(Schema.fromJsonString(Answer))
const decode = Schema.decodeUnknownSync(Schema.fromJsonString(Answer))

const DAY_MS = 86_400_000

export class Answers extends Context.Service<
  Answers,
  {
    /** Keeps the answer to the event with that key. */
    readonly keep: (key: string, answer: Answer) => Effect.Effect<void, SqlError.SqlError>
    readonly find: (key: string) => Effect.Effect<Answer | undefined, SqlError.SqlError>
    /** Deletes answers that are a day old. */
    readonly forgetOld: Effect.Effect<void, SqlError.SqlError>
  }
>()("corral/gateway/Answers") {
  static readonly layer = Layer.effect(
    Answers,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const clock = yield* Clock.Clock
      const ago = (millis: number) => new Date(clock.currentTimeMillisUnsafe() - millis)
      return Answers.of({
        keep: (key, answer) =>
          Effect.asVoid(sql`
            INSERT INTO answers ${sql.insert({ key, answer: encode(answer), decided_at: ago(0) })}
            ON CONFLICT (key) DO UPDATE SET answer = EXCLUDED.answer`),
        find: (key) =>
          Effect.map(
            sql<{ readonly answer: string }>`SELECT answer FROM answers WHERE key = ${key}`,
            ([row]) => (row === undefined ? undefined : decode(row.answer))
          ),
        forgetOld: Effect.suspend(() =>
          Effect.asVoid(sql`DELETE FROM answers WHERE decided_at < ${ago(DAY_MS)}`)
        )
      })
    })
  )
}
