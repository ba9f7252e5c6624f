/**
 * Rate limit for answers to an unlinked account: `PER_HOUR` answers, of which the last one says so. Further messages are recorded and not
 * answered.
 *
 * Guarantees: a retry of the same event gets the same verdict, and counts once.
 */
import { type ChatAccount, encodeChatAccount } from "@corral/domain/chat/ChatAccount"
import { Context, Effect, Layer, Schema } from "effect"
import type { SqlError } from "effect/sql"
import { type TimedStore, queryRow, timedStore } from "../store/RowQueries.ts"

export const PER_HOUR = 10
const HOUR_MS = 3_600_000

export type UnlinkedVerdict =
  | { readonly _tag: "Answer" }
  /** The last answer for `minutes`. */
  | { readonly _tag: "LastAnswer"; readonly minutes: number }
  | { readonly _tag: "Silence" }

/** Codec of the table `unlinked_answers`. */
const CountRow = Schema.Struct({
  began_at: Schema.Date,
  answers: Schema.Number,
  last_granted: Schema.Boolean
})

const CountRequest = Schema.Struct({ key: Schema.String, event: Schema.String })

export class UnlinkedAnswers extends Context.Service<
  UnlinkedAnswers,
  {
    /** Verdict on one more event of the account. `event` is the event's key. */
    readonly count: (account: ChatAccount, event: string) => Effect.Effect<UnlinkedVerdict, SqlError.SqlError>
    readonly deleteOld: Effect.Effect<void, SqlError.SqlError>
  }
>()("corral/gateway/UnlinkedAnswers") {
  static readonly layer = Layer.effect(
    UnlinkedAnswers,
    Effect.gen(function* () {
      const store = yield* timedStore
      const { at, sql } = store
      const count = makeCount(store)
      return UnlinkedAnswers.of({
        count: Effect.fn("UnlinkedAnswers.count")(function* (account, event) {
          const row = yield* count({ key: encodeChatAccount(account), event })
          if (row === undefined || !row.last_granted) return { _tag: "Silence" }
          if (row.answers < PER_HOUR) return { _tag: "Answer" }
          const left = row.began_at.getTime() + HOUR_MS - at().getTime()
          return { _tag: "LastAnswer", minutes: Math.max(1, Math.ceil(left / 60_000)) }
        }),
        deleteOld: Effect.suspend(
          () => sql`DELETE FROM unlinked_answers WHERE began_at < ${at(-HOUR_MS)}`
        ).pipe(Effect.asVoid, Effect.withSpan("UnlinkedAnswers.deleteOld"))
      })
    })
  )
}

/** Statement that counts an event, unless it is a retry of the last one, and returns the count of the hour. */
const makeCount = ({ at, sql }: TimedStore) =>
  queryRow({
    Request: CountRequest,
    Result: CountRow,
    execute: ({ event, key }) => {
      const hourAgo = at(-HOUR_MS)
      const first = { key, began_at: at(), answers: 1, last_event: event, last_granted: true }
      return sql`
        INSERT INTO unlinked_answers AS u ${sql.insert(first)} ON CONFLICT (key) DO UPDATE SET
          began_at = CASE WHEN u.began_at <= ${hourAgo} THEN EXCLUDED.began_at ELSE u.began_at END,
          answers = CASE WHEN u.last_event = EXCLUDED.last_event THEN u.answers
            WHEN u.began_at <= ${hourAgo} THEN 1 ELSE least(u.answers + 1, ${PER_HOUR + 1}) END,
          last_granted = CASE WHEN u.last_event = EXCLUDED.last_event THEN u.last_granted
            ELSE u.began_at <= ${hourAgo} OR u.answers < ${PER_HOUR} END,
          last_event = EXCLUDED.last_event
        RETURNING began_at, answers, last_granted`
    }
  })
