/**
 * Messages to runs in progress: further input, and the message of the next turn for a run that continues after a turn or asks a question. A message is
 * delivered when its Edge answers that the log contains it, or when the pushed log does.
 *
 * Guarantees: every Hub sends a message under the same command id, which the Edge executes once. An idle run receives one message per turn. Input that a
 * run did not take becomes the next turn of its agent once the run has ended: then its log is complete.
 */
import { HubRunStatus } from "@corral/domain/hub-api/HubRun"
import {
  AgentId,
  AgentInstanceId,
  DeviceId,
  type MessageId,
  ProjectId,
  type RequestId,
  RunId,
  SessionId,
  WorkspaceId
} from "@corral/domain/identity/Ids"
import { findAgent } from "@corral/domain/offer/Offer"
import { hasSameLimits } from "@corral/domain/run/Budget"
import { CreateRun, Run, type RunFailure } from "@corral/domain/run/Run"
import { isTerminal } from "@corral/domain/run/RunEnd"
import type { WaitReason } from "@corral/domain/session/Message"
import { Effect, Schema, type Scope } from "effect"
import type { SqlError } from "effect/sql"
import { inputCommandId } from "../edges/CommandRequest.ts"
import type { EdgeRouter } from "../edges/EdgeRouter.ts"
import { releaseInputs } from "../run/RunConversation.ts"
import {
  changeMessage,
  holdMessages,
  MESSAGE_COLUMNS,
  type UserMessageRow,
  userMessageRows
} from "../session/MessageStore.ts"
import { limitsIn } from "../session/SessionTable.ts"
import { limitTo } from "../store/ListPage.ts"
import { openTaskStates } from "../store/StateLists.ts"
import { jsonColumn, storedRows } from "../store/StoredRows.ts"
import { limitLockWait, sweepRows } from "../store/Sweep.ts"
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

const IdleRun = Schema.Struct({
  session_id: SessionId,
  recipient: AgentInstanceId,
  run_id: RunId
})
type IdleRun = typeof IdleRun.Type

const idleRows = storedRows("messages, runs", IdleRun)

/** Runs per page. Each is visited once in a pass, however many messages arrive meanwhile. */
const PAGE = 100

/**
 * Messages for the next turn while the run of their agent continues after a turn, or asks a question. An idle run receives the next message as input,
 * if it can; otherwise the message says what it waits for. Considers the messages of all such runs. Returns whether there is input to send.
 *
 * Guarantees: an idle run receives one message per turn. A message that is sent to a run that ends meanwhile becomes the next turn again.
 */
export const feedIdleRuns = Effect.fn("LiveInputs.feedIdleRuns")(function* (
  services: DeliveryServices
): Effect.fn.Return<boolean, SqlError.SqlError> {
  const { sql } = services
  return yield* sweepRows({
    page: (after) =>
      idleRows.all(sql`
        SELECT DISTINCT m.session_id, m.recipient, r.id AS run_id FROM messages m
        JOIN tasks t ON t.agent_instance_id = m.recipient AND t.state IN ${openTaskStates(sql)}
        JOIN runs r ON r.id = t.run_id
        WHERE m.delivery = 'pending' AND m.send_when = 'next' AND m.task_id IS NULL AND m.waits_for IS NULL AND NOT m.held
          AND (r.state = 'waiting_input' OR (r.state = 'running' AND r.idle AND r.fed_turn < r.turn)) AND r.id > ${after}
        ORDER BY r.id ${limitTo(sql, PAGE)}`),
    keyOf: ({ run_id }) => run_id,
    visit: (row, patienceMs) =>
      sql.withTransaction(Effect.andThen(limitLockWait(sql, patienceMs), feed(services, row))),
    failure: "failed to send a message to an idle run"
  })
})

/** Messages of an agent that a pass notes as waiting. Their notices wake the next pass, after the messages of others. */
const NOTED = 8

const LockedRun = Schema.Struct({
  id: RunId,
  project_id: ProjectId,
  target_id: DeviceId,
  made: jsonColumn(CreateRun),
  state: HubRunStatus,
  turn: Schema.Int,
  told: jsonColumn(Schema.Struct({ paused: Run.fields.paused }))
})
type LockedRun = typeof LockedRun.Type

const lockedRows = storedRows("runs", LockedRun)

/** Locks in the order of `MessageStore`: no push changes the run meanwhile. */
const feed = Effect.fnUntraced(function* (
  services: DeliveryServices,
  { recipient, run_id, session_id }: IdleRun
) {
  const { sql } = services
  yield* sql`
    SELECT 1 FROM projects WHERE id = (SELECT project_id FROM sessions WHERE id = ${session_id}) FOR KEY SHARE`
  const run = yield* lockedRows.first(sql`
    SELECT id, project_id, target_id, made, state, turn, told FROM runs
    WHERE id = ${run_id} AND (state = 'waiting_input' OR (state = 'running' AND idle AND fed_turn < turn))
    FOR NO KEY UPDATE`)
  if (run === undefined) return false
  yield* sql`SELECT 1 FROM sessions WHERE id = ${session_id} FOR NO KEY UPDATE`
  const waiting = sql`
    session_id = ${session_id} AND recipient = ${recipient} AND delivery = 'pending' AND send_when = 'next'
      AND task_id IS NULL AND NOT held AND (expires_at IS NULL OR expires_at > ${services.now()})`
  const first = yield* userMessageRows.first(
    sql`SELECT ${sql.literal(MESSAGE_COLUMNS)} FROM messages WHERE ${waiting} ORDER BY id LIMIT 1`
  )
  if (first === undefined) return false
  if (run.state !== "waiting_input" && (yield* takes(services, run, first))) {
    yield* sendAsInput(services, run, first)
    return true
  }
  const unnoted = yield* userMessageRows.all(sql`
    SELECT ${sql.literal(MESSAGE_COLUMNS)} FROM messages WHERE ${waiting} AND waits_for IS NULL ORDER BY id ${limitTo(sql, NOTED)}`)
  yield* noteWaiting(services, unnoted, run.state === "waiting_input" ? "input" : "background")
  return false
})

/** Whether the run can have the message as its next turn: its mode, model and limits are the message's, and its runtime accepts messages. */
const takes = Effect.fnUntraced(function* (
  { targets }: DeliveryServices,
  { made, target_id, told }: LockedRun,
  message: UserMessageRow
) {
  const { mode, model } = message
  const isSame = (mode ?? "ask") === made.mode && (model ?? undefined) === made.model
  if (told.paused === true || !isSame || !hasSameLimits(limitsIn(message), made)) return false
  const offer = yield* targets.lastOffer(target_id)
  return findAgent(offer?.agents, made.agentId)?.capabilities.input === true
})

/** Before the input is sent, its users become requesters, so that no approval of the run comes first. */
const sendAsInput = Effect.fnUntraced(function* (
  { audit, sql }: DeliveryServices,
  { id: runId, project_id: projectId, turn }: LockedRun,
  { contributors, id, session_id, user_id: actor }: UserMessageRow
) {
  yield* sql`UPDATE runs SET fed_turn = ${turn} WHERE id = ${runId}`
  yield* sql`
    INSERT INTO run_requesters (run_id, user_id, input) SELECT ${runId}, unnest(${[actor, ...contributors]}::text[]), ${id}
    ON CONFLICT DO NOTHING`
  yield* changeMessage(
    sql,
    session_id,
    id,
    sql`send_when = 'now', to_run_id = ${runId}, waits_for = NULL`,
    sql`delivery = 'pending'`
  )
  // The message's id: no request causes the delivery.
  const requestId = id as string as RequestId
  const auditedAction = { action: "run.input", resource: runId, projectId } as const
  yield* audit.record({ ...auditedAction, actor, requestId, outcome: "allowed", code: null })
})

const noteWaiting = Effect.fnUntraced(function* (
  { sql }: DeliveryServices,
  messages: ReadonlyArray<UserMessageRow>,
  reason: WaitReason
) {
  for (const { id, session_id } of messages)
    yield* changeMessage(
      sql,
      session_id,
      id,
      sql`waits_for = ${reason}`,
      sql`delivery = 'pending' AND waits_for IS NULL`
    )
})
