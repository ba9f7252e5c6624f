/**
 * Conversations: one account in one chat or thread, with the location of its tasks, its session at the Hub, its latest task, and the task
 * that waits for a location. A conversation is deleted after a month without a message, a waiting task after a day.
 */
import type { ChatAccount } from "@corral/domain/chat/ChatAccount"
import type { ProjectId, SessionId, TaskId } from "@corral/domain/identity/Ids"
import { Clock, Context, Effect, Layer, Schema } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { WorkLocation } from "../action/ButtonActions.ts"

/** A task that waits until a location is chosen. */
export const PendingTask = Schema.Struct({
  text: Schema.String,
  /** Of the event that asked for it. */
  key: Schema.String,
  /** Nothing that was said before counts. */
  fresh: Schema.Boolean,
  replyTo: Schema.String,
  threadId: Schema.optionalKey(Schema.String),
  /** Sent in a chat without other readers. */
  direct: Schema.Boolean
})
export type PendingTask = typeof PendingTask.Type

/** Where something was said. */
export interface ConversationKey {
  /** Of the talk. */
  readonly key: string
  /** Of the talk in the chat itself: where its work is done is where that of new threads is done. */
  readonly chatKey: string
  readonly chatId: string
}

export interface Conversation {
  readonly place?: WorkLocation | undefined
  readonly session?: { readonly id: SessionId; readonly projectId: ProjectId } | undefined
  /** The latest one, and the key of the event that asked for it. */
  readonly task?: { readonly id: TaskId; readonly key: string } | undefined
  readonly pending?: PendingTask | undefined
}

/** Of a talk. */
export const conversationKey = (
  { account, app, platform, tenant }: ChatAccount,
  chatId: string,
  threadId: string | undefined
): string => [platform, app, tenant, account, chatId, threadId ?? ""].join(" ")

const codec = <S extends Schema.Codec<unknown, unknown>>(schema: S) => ({
  write: (value: S["Type"] | undefined) =>
    value === undefined ? null : Schema.encodeSync(Schema.fromJsonString(schema))(value),
  /** What a release before could write and this one cannot read is as if it were not there. */
  read: (text: string | null): S["Type"] | undefined => {
    if (text === null) return undefined
    const read = Schema.decodeUnknownOption(Schema.fromJsonString(schema))(text)
    return read._tag === "Some" ? read.value : undefined
  }
})
const places = codec(WorkLocation)
const pendings = codec(PendingTask)

interface Row {
  readonly place: string | null
  readonly session_id: SessionId | null
  readonly session_project: ProjectId | null
  readonly task_id: TaskId | null
  readonly task_key: string | null
  readonly pending: string | null
}

const DAY_MS = 86_400_000

export class Conversations extends Context.Service<
  Conversations,
  {
    /** Empty where nothing was said yet. */
    readonly get: (key: string) => Effect.Effect<Conversation, SqlError.SqlError>
    readonly set: (key: string, talk: Conversation) => Effect.Effect<void, SqlError.SqlError>
    readonly deleteOld: Effect.Effect<void, SqlError.SqlError>
  }
>()("corral/gateway/Talks") {
  static readonly layer = Layer.effect(
    Conversations,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const clock = yield* Clock.Clock
      return Conversations.of({
        get: Effect.fnUntraced(function* (key) {
          const [row] = yield* sql<Row>`
            SELECT place, session_id, session_project, task_id, task_key, pending FROM talks WHERE key = ${key}`
          if (row === undefined) return {}
          return {
            place: places.read(row.place),
            session:
              row.session_id === null || row.session_project === null
                ? undefined
                : { id: row.session_id, projectId: row.session_project },
            task:
              row.task_id === null || row.task_key === null
                ? undefined
                : { id: row.task_id, key: row.task_key },
            pending: pendings.read(row.pending)
          }
        }),
        set: (key, { pending, place, session, task }) => {
          const row = {
            key,
            place: places.write(place),
            session_id: session?.id ?? null,
            session_project: session?.projectId ?? null,
            task_id: task?.id ?? null,
            task_key: task?.key ?? null,
            pending: pendings.write(pending),
            updated_at: new Date(clock.currentTimeMillisUnsafe())
          }
          return Effect.asVoid(sql`
            INSERT INTO talks ${sql.insert(row)} ON CONFLICT (key) DO UPDATE SET place = EXCLUDED.place,
              session_id = EXCLUDED.session_id, session_project = EXCLUDED.session_project, task_id = EXCLUDED.task_id,
              task_key = EXCLUDED.task_key,
              pending = EXCLUDED.pending, updated_at = EXCLUDED.updated_at`)
        },
        deleteOld: Effect.suspend(() => {
          const ago = (millis: number) => new Date(clock.currentTimeMillisUnsafe() - millis)
          return Effect.all(
            [
              sql`UPDATE talks SET pending = NULL WHERE pending IS NOT NULL AND updated_at < ${ago(DAY_MS)}`,
              sql`DELETE FROM talks WHERE updated_at < ${ago(30 * DAY_MS)}`
            ],
            { discard: true }
          )
        })
      })
    })
  )
}
