/**
 * Texts of turns as messages of their agent, in the transaction of the push that has the ends of the turns.
 *
 * Guarantees: a turn has at most one message. The last one becomes the answer of the run if the run ends with the same text.
 */
import { type AgentInstanceId, MessageId } from "@corral/domain/identity/Ids"
import type { AnswerOutcome } from "@corral/domain/session/Message"
import { Effect, Schema } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import { noteColumns } from "../session/MessageRow.ts"
import { changeMessage, insertMessage } from "../session/MessageWrites.ts"
import { touchSession } from "../session/SessionLock.ts"
import { derivedId } from "../store/DerivedId.ts"
import { storableText } from "../store/StorableText.ts"
import { storedRows } from "../store/StoredRows.ts"
import { truncateResult } from "./MirroredRun.ts"
import type { TalkingRun } from "./TalkingRun.ts"

/** Adds the texts of the turns after which the run continued. */
export const addTurnTexts = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  { id, run, sessionId }: TalkingRun,
  agentId: AgentInstanceId,
  at: Date
): Effect.fn.Return<void, SqlError.SqlError> {
  for (const { outstanding, text = "", turn } of run.mirror.endedTurns) {
    if (text.trim() === "") continue
    // Each with the next time of the session, so that the messages are in the order of the turns.
    const touched = yield* touchSession(sql, run.row.project_id, sessionId, at)
    if (touched === undefined) return
    yield* insertMessage(sql, {
      ...noteColumns,
      id: derivedId<MessageId>("msg", touched.updated_at.getTime(), `${id} ${turn}`),
      session_id: sessionId,
      user_id: null,
      agent_instance_id: agentId,
      text: storableText(truncateResult(text)),
      run_id: id,
      turn,
      outstanding,
      created_at: touched.updated_at
    })
  }
})

const lastTextRows = storedRows("messages", Schema.Struct({ id: MessageId, text: Schema.String }))

/** Makes the text of the last turn the answer of the ended run. `false` where it is not the same text. */
export const keepAsAnswer = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  { id, run, sessionId }: TalkingRun,
  answer: string
): Effect.fn.Return<boolean, SqlError.SqlError> {
  const { hasTurns, state } = run.mirror
  if (!hasTurns || state !== "completed") return false
  const last = yield* lastTextRows.first(sql`
    SELECT id, text FROM messages
    WHERE session_id = ${sessionId} AND run_id = ${id} AND turn IS NOT NULL ORDER BY turn DESC LIMIT 1`)
  if (last?.text !== answer) return false
  const outcome: AnswerOutcome = state
  yield* changeMessage(
    sql,
    sessionId,
    last.id,
    sql`outcome = ${outcome}, turn = NULL, outstanding = NULL`,
    sql`outcome IS NULL`
  )
  return true
})

const waitingRows = storedRows("messages", Schema.Struct({ id: MessageId }))

/** The reasons why messages wait are no longer known: the run has another turn or other questions. */
export const reconsiderWaiting = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  { sessionId }: TalkingRun,
  agentId: AgentInstanceId
): Effect.fn.Return<void, SqlError.SqlError> {
  const waiting = yield* waitingRows.all(sql`
    SELECT id FROM messages
    WHERE session_id = ${sessionId} AND recipient = ${agentId} AND delivery = 'pending' AND waits_for IS NOT NULL
    ORDER BY id`)
  for (const { id } of waiting)
    yield* changeMessage(sql, sessionId, id, sql`waits_for = NULL`, sql`waits_for IS NOT NULL`)
})
