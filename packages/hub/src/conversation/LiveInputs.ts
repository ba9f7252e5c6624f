/**
 * Further input to runs in progress. A message is delivered when its Edge answers that the log contains it, or when the pushed log does.
 *
 * Guarantees: every Hub sends a message under the same command id, which the Edge executes once. Input that a run did not take is the next turn of
 * its agent once the run has ended: then its log is complete.
 */
import { AgentId, DeviceId, type MessageId, ProjectId, WorkspaceId } from "@corral/domain/identity/Ids"
import { HubRunStatus } from "@corral/domain/hub-api/HubRun"
import type { RunFailure } from "@corral/domain/run/Run"
import { isTerminal } from "@corral/domain/run/RunEnd"
import { Effect, type Scope, Schema } from "effect"
import type { SqlError } from "effect/sql"
import { inputCommandId } from "../edges/CommandRequest.ts"
import type { EdgeRouter } from "../edges/EdgeRouter.ts"
import { releaseInputs } from "../run/RunConversation.ts"
import { MESSAGE_COLUMNS, type UserMessageRow, userMessageRows } from "../session/MessageStore.ts"
import { changeMessage, holdMessages } from "../session/MessageWrites.ts"
import { jsonColumn, storedRows } from "../store/StoredRows.ts"
import { type DeliveryServices, findAuthorRefusal } from "./NextTurn.ts"

export interface InputServices extends DeliveryServices {
  readonly router: EdgeRouter["Service"]
  readonly scope: Scope.Scope
  /** Messages that this Hub is sending. */
  readonly sending: Set<MessageId>
}

const inputRunRows = storedRows(
  "runs",
  Schema.Struct({
    project_id: ProjectId,
    target_id: DeviceId,
    state: HubRunStatus,
    offer: jsonColumn(Schema.Struct({ agentId: AgentId, workspace: WorkspaceId }))
  })
)

/** Messages that are sent to a run at a time. A run that takes none holds up its own messages only. */
const PER_RUN = 8

/** Sends what is pending. Returns without waiting for the Edges. */
export const sendInputs = Effect.fn("LiveInputs.sendInputs")(function* (
  services: InputServices
): Effect.fn.Return<void, SqlError.SqlError> {
  const { scope, sending, sql } = services
  const messages = yield* userMessageRows.all(sql`
    SELECT ${sql.literal(MESSAGE_COLUMNS)} FROM (
      SELECT *, row_number() OVER (PARTITION BY to_run_id ORDER BY id) AS place FROM messages
      WHERE delivery = 'pending' AND send_when = 'now' AND to_run_id IS NOT NULL
    ) AS due WHERE place <= ${PER_RUN} ORDER BY id`)
  for (const message of messages) {
    if (sending.has(message.id)) continue
    sending.add(message.id)
    yield* sendInput(services, message).pipe(
      Effect.catchCause((cause) => Effect.logWarning("failed to send further input", cause)),
      Effect.ensuring(Effect.sync(() => sending.delete(message.id))),
      Effect.forkIn(scope)
    )
  }
})

const sendInput = Effect.fnUntraced(function* (services: InputServices, message: UserMessageRow) {
  const { router, sql } = services
  const { attachments, contributors, id, session_id, text, to_run_id: runId, user_id: author } = message
  if (runId === null) return
  const run = yield* inputRunRows.first(
    sql`SELECT project_id, target_id, state, offer FROM runs WHERE id = ${runId}`
  )
  if (run === undefined) return
  if (isTerminal(run.state)) {
    return yield* sql.withTransaction(returnInputs(services, message, run))
  }
  const place = { target_id: run.target_id, workspace: run.offer.workspace }
  const authors = [author, ...contributors]
  const refusal = yield* findAuthorRefusal(sql, services.targets, authors, run.project_id, place)
  if (refusal !== undefined) return yield* failInput(services, message, refusal)
  const files = attachments.length === 0 ? {} : { attachments: { message: attachments, earlier: [] } }
  const command = { runId, input: { text }, by: author, messageId: id, ...files }
  const isSent = yield* Effect.isSuccess(router.sendInput(run.target_id, command, inputKey(id)))
  // Otherwise the log of the run decides.
  if (!isSent) return
  yield* sql.withTransaction(
    changeMessage(
      sql,
      session_id,
      id,
      sql`delivery = 'delivered'`,
      sql`delivery = 'pending' AND to_run_id = ${runId}`
    )
  )
})

/** The input missed the run that has ended. After Stop or an error it waits with the rest of the queue. */
const returnInputs = Effect.fnUntraced(function* (
  { now, sql }: InputServices,
  { recipient, session_id, to_run_id: runId }: UserMessageRow,
  { project_id, state }: { readonly project_id: ProjectId; readonly state: HubRunStatus }
) {
  if (runId === null) return
  yield* sql`SELECT 1 FROM projects WHERE id = ${project_id} FOR KEY SHARE`
  yield* sql`SELECT 1 FROM sessions WHERE id = ${session_id} FOR NO KEY UPDATE`
  yield* releaseInputs(sql, session_id, runId)
  if (state === "completed" || recipient === null || recipient === "people") return
  const reason = state === "cancelled" ? "stopped" : "failed"
  yield* holdMessages(sql, session_id, recipient, { reason, since: now().toISOString() })
})

const inputKey = (id: MessageId): string => `message ${id}`

/** Only while the Edge can't have the message. */
const failInput = (
  { sql }: InputServices,
  { id, session_id, to_run_id }: UserMessageRow,
  { code, message }: Pick<RunFailure, "code" | "message">
) =>
  sql.withTransaction(
    Effect.gen(function* () {
      const error = JSON.stringify({ code, message })
      const commands = yield* sql`SELECT 1 FROM edge_commands WHERE id = ${inputCommandId(inputKey(id))}`
      if (commands.length > 0) return
      // An idle run may take another message. Locked before the session, as by a push.
      yield* sql`UPDATE runs SET fed_turn = 0 WHERE id = ${to_run_id}`
      yield* changeMessage(
        sql,
        session_id,
        id,
        sql`delivery = 'failed', error = ${error}, to_run_id = NULL`,
        sql`delivery = 'pending' AND to_run_id = ${to_run_id}`
      )
      yield* sql`DELETE FROM run_requesters WHERE run_id = ${to_run_id} AND input = ${id}`
    })
  )
