/**
 * Messages of a session: the codec of the table `messages`, reads, and the statements that add and change messages. The author of a message is a user or
 * an agent; the table checks that it is one of the two. The output of runs is in their events, not here. Each write takes the next version of the session
 * and sends a notice.
 *
 * Locks are taken in the order project, run, task, session, message. The project comes first because PostgreSQL checks the reference to it when a
 * transaction updates the session a second time.
 */
import type { Proof } from "@corral/domain/access/Authorization"
import { PermissionDenied } from "@corral/domain/errors/Failures"
import {
  AgentInstanceId,
  MessageId,
  RunId,
  SessionId,
  TaskGroupId,
  TaskId,
  UserId
} from "@corral/domain/identity/Ids"
import type { HeldQueue } from "@corral/domain/run/AgentProfile"
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
import { SqlClient, type SqlError, type Statement } from "effect/sql"
import { limitTo } from "../store/ListPage.ts"
import { announced, notify } from "../store/Notices.ts"
import { openTaskStates, waitingTaskStates } from "../store/StateLists.ts"
import { jsonColumn, storedRows, Timestamp } from "../store/StoredRows.ts"
import { limitColumns, limitsIn, storedBudget } from "./SessionTable.ts"

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
  /** Of a message that several candidates received. */
  group_id: Schema.NullOr(TaskGroupId),
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
type MessageRow = typeof MessageRow.Type
export type UserMessageRow = typeof UserMessageRow.Type

export const MESSAGE_COLUMNS = Object.keys(UserMessageRow.fields).join(", ")

const messageRows = storedRows("messages", MessageRow)
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
  group_id: null,
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
    ...(row.group_id === null ? {} : { groupId: row.group_id }),
    version: row.version,
    createdAt: row.created_at.toISOString(),
    ...(row.edited_at === null ? {} : { editedAt: row.edited_at.toISOString() })
  }
}

/** Messages of a session, read. */
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
    /** Messages to an agent that wait for a run, in the order in which they are sent. */
    readonly listWaiting: (
      proof: Proof<"project.read">,
      sessionId: SessionId,
      agentId: AgentInstanceId,
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

        listWaiting: Effect.fnUntraced(function* ({ subject }, sessionId, agentId, limit) {
          const rows = yield* messageRows.all(sql`
            ${ofSession(subject, sessionId)} AND recipient = ${agentId} AND delivery = 'pending' AND to_run_id IS NULL
              AND send_when IS DISTINCT FROM 'now'
            ORDER BY id ${limitTo(sql, limit)}`)
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

// Withdrawal of messages that no target has yet, when their session or their agent is closed to new turns.

/** Cancels the tasks of the session's messages that have no run yet. Call it before the session is locked. */
export const cancelWaitingMessages = (
  sql: SqlClient.SqlClient,
  projectId: string,
  sessionId: SessionId,
  now: Date
): Effect.Effect<void, SqlError.SqlError> =>
  Effect.asVoid(
    announced(
      sql,
      "task",
      sql`
    UPDATE tasks SET state = 'cancelled', updated_at = ${now} WHERE id IN (
      SELECT id FROM tasks WHERE session_id = ${sessionId} AND project_id = ${projectId} AND message_id IS NOT NULL
        AND state IN ${waitingTaskStates(sql)} AND run_id IS NULL ORDER BY id FOR UPDATE
    ) RETURNING id`
    )
  )

/** Withdraws pending messages without a task in progress: those of one agent, or of the whole session. Call it with the session locked. */
export const withdrawUndelivered = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  sessionId: SessionId,
  recipient?: AgentInstanceId
) {
  const rows = yield* messageRows.all(sql`
    SELECT ${sql.literal(MESSAGE_COLUMNS)} FROM messages m
    WHERE session_id = ${sessionId} AND delivery = 'pending' AND to_run_id IS NULL
      ${recipient === undefined ? sql`` : sql`AND recipient = ${recipient}`}
      AND NOT EXISTS (SELECT 1 FROM tasks t WHERE t.id = m.task_id AND t.state IN ${openTaskStates(sql)})
    ORDER BY id`)
  for (const { id } of rows)
    yield* changeMessage(sql, sessionId, id, sql`delivery = 'withdrawn'`, sql`delivery = 'pending'`)
})

// Holds the queue of an agent after Stop or an error: the messages that wait then stay until a user continues or withdraws them.
//
// Guarantees: messages that are sent later, or again, do not wait for held ones.

const waitingRows = storedRows("messages", Schema.Struct({ id: MessageId }))

/** Call it with the session locked. `endedAt`: when the turn has ended, if that was in an earlier transaction. Messages sent since then are later ones. */
export const holdMessages = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  sessionId: SessionId,
  agentId: AgentInstanceId,
  held: HeldQueue,
  endedAt?: Date
): Effect.fn.Return<void, SqlError.SqlError> {
  const isEarlier = endedAt === undefined ? sql`` : sql`AND created_at <= ${endedAt}`
  const isWaiting = sql`delivery = 'pending' AND send_when = 'next' AND task_id IS NULL AND NOT held ${isEarlier}`
  const waiting = yield* waitingRows.all(
    sql`SELECT id FROM messages WHERE session_id = ${sessionId} AND recipient = ${agentId} AND ${isWaiting} ORDER BY id`
  )
  if (waiting.length === 0) return
  yield* sql`
    UPDATE session_agents SET held = ${JSON.stringify(held)} WHERE session_id = ${sessionId} AND id = ${agentId}`
  for (const { id } of waiting)
    yield* changeMessage(sql, sessionId, id, sql`held = TRUE, waits_for = NULL`, isWaiting)
})

const versionRows = storedRows("sessions", Schema.Struct({ message_version: Schema.Int }))

/**
 * The next version of the session's messages where the condition holds. Locks the session, so versions become visible in their order. `change`: what else
 * changes in the session.
 */
const nextVersion = (
  sql: SqlClient.SqlClient,
  sessionId: SessionId,
  condition: Statement.Fragment,
  change: Statement.Fragment = sql``
) =>
  Effect.map(
    versionRows.first(sql`
      UPDATE sessions SET message_version = message_version + 1${change} WHERE sessions.id = ${sessionId} AND ${condition}
      RETURNING message_version`),
    (row) => row?.message_version
  )

/** Reads the written message and sends its notice. */
const announcedMessage = (
  sql: SqlClient.SqlClient,
  statement: Effect.Effect<ReadonlyArray<object>, SqlError.SqlError>
) =>
  Effect.tap(messageRows.first(statement), (row) =>
    row === undefined ? Effect.void : notify(sql, "message", `${row.session_id} ${row.id}`)
  )

/** Adds a message. Returns nothing where a message of the same id, or an answer of the same run, exists. `title`: that of a session without one. */
export const insertMessage = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  row: Omit<MessageRow, "version">,
  title?: string
): Effect.fn.Return<MessageRow | undefined, SqlError.SqlError> {
  const titled =
    title === undefined ? sql`` : sql`, titled = true, title = CASE WHEN titled THEN title ELSE ${title} END`
  const version = yield* nextVersion(sql, row.session_id, sql`TRUE`, titled)
  // The project was deleted meanwhile, and its sessions with it.
  if (version === undefined) return undefined
  const attachments = JSON.stringify(row.attachments)
  const error = row.error === null ? null : JSON.stringify(row.error)
  const stored = { ...row, version, attachments, error, budget: storedBudget(row.budget) }
  return yield* announcedMessage(
    sql,
    sql`INSERT INTO messages ${sql.insert(stored)} ON CONFLICT DO NOTHING RETURNING ${sql.literal(MESSAGE_COLUMNS)}`
  )
})

/** Changes a message if the condition holds. Returns nothing, and leaves the session as it is, where it does not. */
export const changeMessage = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  sessionId: SessionId,
  id: MessageId,
  change: Statement.Fragment,
  condition: Statement.Fragment
): Effect.fn.Return<MessageRow | undefined, SqlError.SqlError> {
  const matching = sql`session_id = ${sessionId} AND id = ${id} AND ${condition}`
  const version = yield* nextVersion(sql, sessionId, sql`EXISTS (SELECT 1 FROM messages WHERE ${matching})`)
  if (version === undefined) return undefined
  return yield* announcedMessage(
    sql,
    sql`
      UPDATE messages SET version = ${version}, ${change} WHERE ${matching}
      RETURNING ${sql.literal(MESSAGE_COLUMNS)}`
  )
})
