/**
 * Conversations: one account in one chat or thread, with the location of its tasks, its session at the Hub, its latest task, and the task
 * that waits for a location. A conversation is deleted after a month without a message, a waiting task after a day.
 */
import type { ChatAccount } from "@corral/domain/chat/ChatAccount"
import { ProjectId, SessionId, TaskId } from "@corral/domain/identity/Ids"
import { Context, Effect, Layer, Option, Schema } from "effect"
import type { SqlError } from "effect/sql"
import { WorkLocation } from "../action/ButtonMeaning.ts"
import { queryRow } from "../store/RowQueries.ts"
import { timedStore } from "../store/TimedStore.ts"

/** A task that waits until a location is chosen. */
export const PendingTask = Schema.Struct({
  text: Schema.String,
  /** Key of the event that asked for the task. */
  key: Schema.String,
  /** Whether the task starts a new session. */
  fresh: Schema.Boolean,
  replyTo: Schema.String,
  threadId: Schema.optionalKey(Schema.String),
  /** Whether the chat has no other readers. */
  direct: Schema.Boolean
})
export type PendingTask = typeof PendingTask.Type

/** Keys of a conversation and of its chat. */
export interface ConversationKey {
  readonly key: string
  /** Key of the conversation in the chat outside of threads. New threads inherit its location. */
  readonly chatKey: string
  readonly chatId: string
}

export interface Conversation {
  readonly place?: WorkLocation | undefined
  readonly session?: { readonly id: SessionId; readonly projectId: ProjectId } | undefined
  /** The latest task, and the key of the event that asked for it. */
  readonly task?: { readonly id: TaskId; readonly key: string } | undefined
  readonly pending?: PendingTask | undefined
}

export const conversationKey = (
  { account, app, platform, tenant }: ChatAccount,
  chatId: string,
  threadId: string | undefined
): string => [platform, app, tenant, account, chatId, threadId ?? ""].join(" ")

/** Column of JSON that decodes as absent if an earlier release wrote another shape. */
const lenientColumn = <S extends Schema.Codec<unknown, unknown>>(schema: S) =>
  Schema.NullOr(Schema.fromJsonString(schema)).pipe(
    Schema.catchDecoding(() => Effect.succeed(Option.some(null)))
  )

/** Codec of the table `talks`. */
const ConversationRow = Schema.Struct({
  place: lenientColumn(WorkLocation),
  session_id: Schema.NullOr(SessionId),
  session_project: Schema.NullOr(ProjectId),
  task_id: Schema.NullOr(TaskId),
  task_key: Schema.NullOr(Schema.String),
  pending: lenientColumn(PendingTask)
})

const encodeRow = Schema.encodeSync(ConversationRow)

const rowOf = ({ pending, place, session, task }: Conversation): typeof ConversationRow.Encoded =>
  encodeRow({
    place: place ?? null,
    session_id: session?.id ?? null,
    session_project: session?.projectId ?? null,
    task_id: task?.id ?? null,
    task_key: task?.key ?? null,
    pending: pending ?? null
  })

const conversationOf = (row: typeof ConversationRow.Type): Conversation => {
  const {
    pending,
    place,
    session_id: sessionId,
    session_project: projectId,
    task_id: id,
    task_key: key
  } = row
  return {
    place: place ?? undefined,
    session: sessionId === null || projectId === null ? undefined : { id: sessionId, projectId },
    task: id === null || key === null ? undefined : { id, key },
    pending: pending ?? undefined
  }
}

const DAY_MS = 86_400_000

export class Conversations extends Context.Service<
  Conversations,
  {
    /** The conversation; an empty one if none is stored. */
    readonly get: (key: string) => Effect.Effect<Conversation, SqlError.SqlError>
    readonly set: (key: string, conversation: Conversation) => Effect.Effect<void, SqlError.SqlError>
    readonly deleteOld: Effect.Effect<void, SqlError.SqlError>
  }
>()("corral/gateway/Conversations") {
  static readonly layer = Layer.effect(
    Conversations,
    Effect.gen(function* () {
      const { at, sql } = yield* timedStore
      const find = queryRow({
        Request: Schema.String,
        Result: ConversationRow,
        execute: (key) => sql`
          SELECT place, session_id, session_project, task_id, task_key, pending FROM talks WHERE key = ${key}`
      })
      return Conversations.of({
        get: Effect.fn("Conversations.get")(function* (key) {
          const row = yield* find(key)
          return row === undefined ? {} : conversationOf(row)
        }),
        set: Effect.fn("Conversations.set")(function* (key, conversation) {
          yield* sql`
            INSERT INTO talks ${sql.insert({ key, ...rowOf(conversation), updated_at: at() })}
            ON CONFLICT (key) DO UPDATE SET place = EXCLUDED.place, session_id = EXCLUDED.session_id,
              session_project = EXCLUDED.session_project, task_id = EXCLUDED.task_id, task_key = EXCLUDED.task_key,
              pending = EXCLUDED.pending, updated_at = EXCLUDED.updated_at`
        }),
        deleteOld: Effect.suspend(() =>
          Effect.all(
            [
              sql`UPDATE talks SET pending = NULL WHERE pending IS NOT NULL AND updated_at < ${at(-DAY_MS)}`,
              sql`DELETE FROM talks WHERE updated_at < ${at(-30 * DAY_MS)}`
            ],
            { discard: true }
          )
        ).pipe(Effect.withSpan("Conversations.deleteOld"))
      })
    })
  )
}
