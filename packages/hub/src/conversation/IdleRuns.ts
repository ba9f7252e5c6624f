/**
 * Messages for the next turn while the run of their agent continues after a turn, or asks a question. An idle run receives the next message as
 * input, if it can; otherwise the message says what it waits for.
 *
 * Guarantees: an idle run receives one message per turn. A message that is sent to a run that ends meanwhile becomes the next turn again.
 */
import { findAgent } from "@corral/domain/offer/Offer"
import {
  AgentInstanceId,
  DeviceId,
  ProjectId,
  type RequestId,
  RunId,
  SessionId
} from "@corral/domain/identity/Ids"
import { HubRunStatus } from "@corral/domain/hub-api/HubRun"
import { hasSameLimits } from "@corral/domain/run/Budget"
import { CreateRun, Run } from "@corral/domain/run/Run"
import type { WaitReason } from "@corral/domain/session/Message"
import { Effect, Schema } from "effect"
import type { SqlError } from "effect/sql"
import { MESSAGE_COLUMNS, type UserMessageRow, userMessageRows } from "../session/MessageStore.ts"
import { limitsIn } from "../session/TurnLimits.ts"
import { changeMessage } from "../session/MessageWrites.ts"
import { limitTo } from "../store/ListPage.ts"
import { jsonColumn, storedRows } from "../store/StoredRows.ts"
import { limitLockWait, sweepRows } from "../store/Sweep.ts"
import type { DeliveryServices } from "./NextTurn.ts"
import { openTaskStates } from "../store/StateLists.ts"

const IdleRun = Schema.Struct({
  session_id: SessionId,
  recipient: AgentInstanceId,
  run_id: RunId
})
type IdleRun = typeof IdleRun.Type

const idleRows = storedRows("messages, runs", IdleRun)

/** Runs per page. Each is visited once in a pass, however many messages arrive meanwhile. */
const PAGE = 100

/** Considers the messages of all such runs. Returns whether there is input to send. */
export const feedIdleRuns = Effect.fn("IdleRuns.feedIdleRuns")(function* (
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

/** Locks in the order of `MessageWrites`: no push changes the run meanwhile. */
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
