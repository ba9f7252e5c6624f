/**
 * Messages of a session, read, and the codec of the table `messages`. The author of a message is a user or an agent; the table ensures
 * that it is one of the two. The output of runs is in their events, not here.
 */
import type { Proof } from "@corral/domain/access/Authorization"
import { PermissionDenied } from "@corral/domain/errors/Failures"
import { AgentInstanceId, MessageId, RunId, SessionId, TaskId, UserId } from "@corral/domain/identity/Ids"
import { RunFailure, RunMode } from "@corral/domain/run/Run"
import { Attachment } from "@corral/domain/session/Attachment"
import {
  AnswerOutcome,
  DeliveryContext,
  DeliveryState,
  type Message,
  type MessageDelivery,
  MessageRecipient,
  MessageTime,
  WaitReason
} from "@corral/domain/session/Message"
import { OnOffline } from "@corral/domain/task/Task"
import { Context, Effect, Layer, Schema } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { limitTo } from "../store/ListPage.ts"
import { jsonColumn, storedRows, Timestamp } from "../store/StoredRows.ts"
import { limitColumns, limitsIn } from "./TurnLimits.ts"

/** Files of a message. They do not change. */
export const attachmentsColumn = jsonColumn(Schema.Array(Attachment))

const columns = {
  id: MessageId,
  session_id: SessionId,
  text: Schema.String,
  run_id: Schema.NullOr(RunId),
  /** NULL for messages of earlier versions, which are notes, and for answers. */
  recipient: Schema.NullOr(MessageRecipient),
  send_when: Schema.NullOr(MessageTime),
  mode: Schema.NullOr(RunMode),
  model: Schema.NullOr(Schema.String),
  ...limitColumns,
  on_offline: Schema.NullOr(OnOffline),
  expires_at: Schema.NullOr(Timestamp),
  delivery: Schema.NullOr(DeliveryState),
  /** The task of the present attempt. */
  task_id: Schema.NullOr(TaskId),
  /** The run that has the message, or to which it is sent as further input. */
  to_run_id: Schema.NullOr(RunId),
  context: Schema.NullOr(DeliveryContext),
  attempt: Schema.Int,
  error: Schema.NullOr(jsonColumn(RunFailure)),
  outcome: Schema.NullOr(AnswerOutcome),
  waits_for: Schema.NullOr(WaitReason),
  /** Whether the message waits in the held queue of its agent. */
  held: Schema.Boolean,
  /** Of the text of a turn after which its run continued. */
  turn: Schema.NullOr(Schema.Int),
  outstanding: Schema.NullOr(Schema.Int),
  /** Users besides the author who have changed or retried the message. */
  contributors: Schema.Array(UserId),
  /** Whether the message is the prompt of a task that was created without it. */
  from_task: Schema.Boolean,
  attachments: attachmentsColumn,
  version: Schema.Int,
  created_at: Timestamp,
  edited_at: Schema.NullOr(Timestamp)
}
const UserMessageRow = Schema.Struct({ ...columns, user_id: UserId, agent_instance_id: Schema.Null })
const AgentMessageRow = Schema.Struct({
  ...columns,
  user_id: Schema.Null,
  agent_instance_id: AgentInstanceId
})
const MessageRow = Schema.Union([UserMessageRow, AgentMessageRow])
export type MessageRow = typeof MessageRow.Type
export type UserMessageRow = typeof UserMessageRow.Type

export const MESSAGE_COLUMNS = Object.keys(UserMessageRow.fields).join(", ")

export const messageRows = storedRows("messages", MessageRow)
export const contributorRows = storedRows("messages", Schema.Struct({ contributors: columns.contributors }))
export const userMessageRows = storedRows("messages", UserMessageRow)

/** Columns of a message that is neither sent to an agent nor the end of a run. */
export const noteColumns = {
  run_id: null,
  recipient: null,
  send_when: null,
  mode: null,
  model: null,
  budget: null,
  timeout_ms: null,
  on_offline: null,
  expires_at: null,
  delivery: null,
  task_id: null,
  to_run_id: null,
  context: null,
  attempt: 0,
  error: null,
  outcome: null,
  waits_for: null,
  held: false,
  turn: null,
  outstanding: null,
  contributors: [],
  from_task: false,
  attachments: [],
  edited_at: null
} as const

const deliveryOf = ({
  context,
  delivery,
  error,
  held,
  task_id,
  to_run_id,
  waits_for
}: MessageRow): MessageDelivery | undefined =>
  delivery === null
    ? undefined
    : {
        state: delivery,
        ...(to_run_id === null ? {} : { runId: to_run_id }),
        ...(task_id === null ? {} : { taskId: task_id }),
        ...(context === null ? {} : { context }),
        ...(delivery !== "pending" || waits_for === null ? {} : { waitsFor: waits_for }),
        ...(delivery === "pending" && held ? { held } : {}),
        ...(error === null ? {} : { error })
      }

export const messageOf = (row: MessageRow): Message => {
  const delivery = deliveryOf(row)
  return {
    id: row.id,
    sessionId: row.session_id,
    author:
      row.user_id === null
        ? { kind: "agent", agentInstanceId: row.agent_instance_id }
        : { kind: "user", userId: row.user_id },
    text: row.text,
    ...(row.run_id === null ? {} : { runId: row.run_id }),
    ...(row.recipient === null ? {} : { to: row.recipient }),
    ...(row.send_when === null ? {} : { when: row.send_when }),
    ...(row.mode === null ? {} : { mode: row.mode }),
    ...(row.model === null ? {} : { model: row.model }),
    ...limitsIn(row),
    ...(row.attachments.length === 0 ? {} : { attachments: row.attachments }),
    ...(delivery === undefined ? {} : { delivery }),
    ...(row.outcome === null ? {} : { outcome: row.outcome }),
    // The error of a delivery is in the delivery.
    ...(row.outcome === null || row.error === null ? {} : { error: row.error }),
    ...(row.turn === null ? {} : { turn: row.turn }),
    ...(row.outstanding === null ? {} : { outstanding: row.outstanding }),
    version: row.version,
    createdAt: row.created_at.toISOString(),
    ...(row.edited_at === null ? {} : { editedAt: row.edited_at.toISOString() })
  }
}

export class MessageStore extends Context.Service<
  MessageStore,
  {
    readonly get: (
      proof: Proof<"project.read">,
      sessionId: SessionId,
      id: MessageId
    ) => Effect.Effect<Message, PermissionDenied | SqlError.SqlError>
    /** Messages before an id, newest first. */
    readonly list: (
      proof: Proof<"project.read">,
      sessionId: SessionId,
      before: string | undefined,
      limit: number
    ) => Effect.Effect<ReadonlyArray<Message>, SqlError.SqlError>
    /** Messages with a later version, in the order of their versions. */
    readonly listChanges: (
      proof: Proof<"project.read">,
      sessionId: SessionId,
      afterVersion: number,
      limit: number
    ) => Effect.Effect<ReadonlyArray<Message>, SqlError.SqlError>
  }
>()("corral/hub/Messages") {
  static readonly layer = Layer.effect(
    MessageStore,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const columns = sql.literal(MESSAGE_COLUMNS)
      const ofSession = (projectId: string, sessionId: SessionId) => sql`
        SELECT ${columns} FROM messages
        WHERE session_id = (SELECT id FROM sessions WHERE id = ${sessionId} AND project_id = ${projectId})`

      return MessageStore.of({
        get: Effect.fnUntraced(function* ({ subject }, sessionId, id) {
          const row = yield* messageRows.first(sql`${ofSession(subject, sessionId)} AND id = ${id}`)
          return row === undefined ? yield* new PermissionDenied() : messageOf(row)
        }),

        list: Effect.fnUntraced(function* ({ subject }, sessionId, before, limit) {
          const rows = yield* messageRows.all(sql`
            ${ofSession(subject, sessionId)} ${before === undefined ? sql`` : sql`AND id < ${before}`}
            ORDER BY id DESC ${limitTo(sql, limit)}`)
          return rows.map(messageOf)
        }),

        listChanges: Effect.fnUntraced(function* ({ subject }, sessionId, afterVersion, limit) {
          const rows = yield* messageRows.all(sql`
            ${ofSession(subject, sessionId)} AND version > ${afterVersion} ORDER BY version ${limitTo(sql, limit)}`)
          return rows.map(messageOf)
        })
      })
    })
  )
}
