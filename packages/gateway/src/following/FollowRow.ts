/** Codec of the table `follows`. */
import type { ChatAccount } from "@corral/domain/chat/ChatAccount"
import { MessageId, RunId, SessionId, TaskId } from "@corral/domain/identity/Ids"
import { Schema } from "effect"
import type { LocalizedText } from "../platform/Card.ts"
import { TaskProgress } from "./TaskProgress.ts"

/** The followed message, or the task if an earlier release began to follow it. */
export const FollowId = Schema.Union([MessageId, TaskId])
export type FollowId = typeof FollowId.Type

export interface Follow {
  readonly id: FollowId
  /** Absent for the task of an earlier release. */
  readonly sessionId: SessionId | undefined
  /** The account that wrote the message. Calls to the Hub act as this account. */
  readonly account: ChatAccount
  readonly chatId: string
  readonly replyTo: string | undefined
  readonly threadId: string | undefined
  /** Whether this account is the only reader of the chat. */
  readonly direct: boolean
  readonly language: keyof LocalizedText
  /** Names of the location, for people. */
  readonly place: string
  /** The message of its card, once it is sent. */
  readonly messageId: string | undefined
  /** Whether the card may have been sent although its message is unknown. */
  readonly cardTried: boolean
  readonly runId: RunId | undefined
  /** The last event in `progress`. */
  readonly seq: number
  readonly progress: TaskProgress
  readonly ended: boolean
}

const isMessageId = Schema.is(MessageId)
const isTaskId = Schema.is(TaskId)

/** What a follow is of: a message of a session, or a task. */
export const followedOf = ({
  id,
  sessionId
}: Pick<Follow, "id" | "sessionId">):
  | { readonly sessionId: SessionId; readonly messageId: MessageId }
  | { readonly taskId: TaskId } => {
  if (isTaskId(id)) return { taskId: id }
  // Every follow of a message has its session.
  if (!isMessageId(id) || sessionId === undefined) throw new Error("A followed message has no session.")
  return { sessionId, messageId: id }
}

const StoredProgress = Schema.fromJsonString(TaskProgress)

export const encodeProgress = Schema.encodeSync(StoredProgress)

export const FollowRow = Schema.Struct({
  id: FollowId,
  session_id: Schema.NullOr(SessionId),
  platform: Schema.String,
  app: Schema.String,
  tenant: Schema.String,
  account: Schema.String,
  chat_id: Schema.String,
  reply_to: Schema.NullOr(Schema.String),
  thread_id: Schema.NullOr(Schema.String),
  direct: Schema.Boolean,
  language: Schema.Literals(["en", "zh"]),
  place: Schema.String,
  message_id: Schema.NullOr(Schema.String),
  card_tried: Schema.Boolean,
  run_id: Schema.NullOr(RunId),
  seq: Schema.Number,
  progress: StoredProgress,
  ended: Schema.Boolean
})

export const FOLLOW_COLUMNS = `id, session_id, platform, app, tenant, account, chat_id, reply_to, thread_id, direct, language, place,
  message_id, card_tried, run_id, seq::float8 AS seq, progress, ended_at IS NOT NULL AS ended`

export const followOf = (row: typeof FollowRow.Type): Follow => ({
  id: row.id,
  sessionId: row.session_id ?? undefined,
  account: { platform: row.platform, app: row.app, tenant: row.tenant, account: row.account },
  chatId: row.chat_id,
  replyTo: row.reply_to ?? undefined,
  threadId: row.thread_id ?? undefined,
  direct: row.direct,
  language: row.language,
  place: row.place,
  messageId: row.message_id ?? undefined,
  cardTried: row.card_tried,
  runId: row.run_id ?? undefined,
  seq: row.seq,
  progress: row.progress,
  ended: row.ended
})
