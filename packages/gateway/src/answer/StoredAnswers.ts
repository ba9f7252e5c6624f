/**
 * Stored answer to an event, from the decision until it is sent. If sending fails, a retry sends this answer. The retry does not repeat the
 * action, which would fail as already done.
 */
import { Context, Effect, Layer, Schema } from "effect"
import type { SqlError } from "effect/sql"
import { queryRow, timedStore } from "../store/RowQueries.ts"
import { PlatformUnavailable } from "../platform/ChatPlatform.ts"
import type { LocalizedText } from "../platform/LocalizedText.ts"
import type { Responder } from "./Responder.ts"

// Responder that stores the final answer before it is sent, so that a retry sends the answer and does not repeat the action.

/** Answers with a step are not final and are not stored. */
export const storedResponder = (
  responder: Responder,
  answers: (typeof StoredAnswers)["Service"]
): Responder => {
  const store = (words: LocalizedText, alone: boolean) =>
    Effect.mapError(
      answers.store(responder.key, { words, alone }),
      () => new PlatformUnavailable({ message: "The answer could not be stored." })
    )
  return {
    ...responder,
    reply: (words, step) =>
      step === undefined
        ? Effect.andThen(store(words, false), responder.reply(words))
        : responder.reply(words, step),
    replyPrivately: (words, step) =>
      step === undefined
        ? Effect.andThen(store(words, true), responder.replyPrivately(words))
        : responder.replyPrivately(words, step)
  }
}

const StoredAnswer = Schema.Struct({
  words: Schema.Struct({ en: Schema.String, zh: Schema.String }),
  /** Whether only the user who asked may read it. */
  alone: Schema.Boolean
})
export type StoredAnswer = typeof StoredAnswer.Type

const AnswerColumn = Schema.fromJsonString(StoredAnswer)

const encodeAnswer = Schema.encodeSync(AnswerColumn)

/** Codec of the table `answers`. */
const AnswerRow = Schema.Struct({ answer: AnswerColumn })

const DAY_MS = 86_400_000

export class StoredAnswers extends Context.Service<
  StoredAnswers,
  {
    /** Stores the answer to the event with this key. */
    readonly store: (key: string, answer: StoredAnswer) => Effect.Effect<void, SqlError.SqlError>
    readonly find: (key: string) => Effect.Effect<StoredAnswer | undefined, SqlError.SqlError>
    /** Deletes answers that are a day old. */
    readonly deleteOld: Effect.Effect<void, SqlError.SqlError>
  }
>()("corral/gateway/StoredAnswers") {
  static readonly layer = Layer.effect(
    StoredAnswers,
    Effect.gen(function* () {
      const { at, sql } = yield* timedStore
      const find = queryRow({
        Request: Schema.String,
        Result: AnswerRow,
        execute: (key) => sql`SELECT answer FROM answers WHERE key = ${key}`
      })
      return StoredAnswers.of({
        store: Effect.fn("StoredAnswers.store")(function* (key, answer) {
          yield* sql`
            INSERT INTO answers ${sql.insert({ key, answer: encodeAnswer(answer), decided_at: at() })}
            ON CONFLICT (key) DO UPDATE SET answer = EXCLUDED.answer`
        }),
        find: Effect.fn("StoredAnswers.find")(function* (key) {
          return (yield* find(key))?.answer
        }),
        deleteOld: Effect.suspend(() => sql`DELETE FROM answers WHERE decided_at < ${at(-DAY_MS)}`).pipe(
          Effect.asVoid,
          Effect.withSpan("StoredAnswers.deleteOld")
        )
      })
    })
  )
}
