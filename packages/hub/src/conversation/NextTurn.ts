/**
 * Delivery of one message as the next turn of its agent: in one transaction, the message gets its task. Also the rights of the users
 * behind a message to an agent: what starting a run needs, and writing in the session.
 *
 * Guarantees: an agent has one task at a time, and so have agents that share a place, also with several Hubs: the transaction holds
 * the lock of the place. The task's id derives from the message and its attempt, so a message has at most one task per attempt.
 */
import { prove } from "@corral/domain/access/Authorization"
import type {
  PermissionDenied,
  UnauthorizedTarget,
  WorkspaceOutsideAllowlist
} from "@corral/domain/errors/Failures"
import {
  type AgentInstanceId,
  type DeviceId,
  ProjectId,
  type RequestId,
  type RunId,
  type SessionId,
  TaskGroupId,
  type TaskId,
  type UserId
} from "@corral/domain/identity/Ids"
import { findAgent } from "@corral/domain/offer/Offer"
import type { Coded, ErrorCode } from "@corral/domain/errors/ErrorTable"
import type { DeliveryContext } from "@corral/domain/session/Message"
import { SessionState } from "@corral/domain/session/Session"
import type { CreateTask } from "@corral/domain/task/Task"
import { Effect, Result, Schema } from "effect"
import { type SqlClient, SqlError } from "effect/sql"
import { attachmentsOfRun, findAttachmentRefusal } from "../attachment/MessageAttachments.ts"
import type { Audit } from "../audit/Audit.ts"
import type { Targets } from "../edges/Targets.ts"
import {
  changeMessage,
  holdMessages,
  MESSAGE_COLUMNS,
  type UserMessageRow,
  userMessageRows,
  withdrawUndelivered
} from "../session/MessageStore.ts"
import { findSessionAgent, type SessionAgentRow, sharedPlaceOf } from "../session/SessionAgentStore.ts"
import { limitsIn } from "../session/SessionTable.ts"
import { derivedId } from "@corral/service/Identifiers"
import { plannedTransaction } from "../store/Database.ts"
import { openTaskStates } from "../store/StateLists.ts"
import { storedRows } from "../store/StoredRows.ts"
import { limitLockWait } from "../store/Sweep.ts"
import { failureOf, findDispatchRefusal } from "../task/TaskAdmission.ts"
import type { Tasks } from "../task/Tasks.ts"
import { type TranscribedPrompt, withTranscript } from "./Transcript.ts"

export type AuthorRefusal = PermissionDenied | UnauthorizedTarget | WorkspaceOutsideAllowlist

/** Why one of the users may not send a message to the agent; `undefined` where all may. */
export const findAuthorRefusal = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  targets: Targets["Service"],
  authors: ReadonlyArray<UserId>,
  projectId: ProjectId,
  { target_id: targetId, workspace }: Pick<SessionAgentRow, "target_id" | "workspace">
): Effect.fn.Return<AuthorRefusal | undefined, SqlError.SqlError> {
  for (const author of authors) {
    const place = { author, projectId, targetId, workspace }
    const refusal = yield* findDispatchRefusal(sql, targets, place, ["session.write", "task.create"])
    if (refusal !== undefined) return refusal
  }
  return undefined
})

export interface DeliveryServices {
  readonly sql: SqlClient.SqlClient
  readonly audit: Audit["Service"]
  readonly targets: Targets["Service"]
  readonly tasks: Tasks["Service"]
  readonly now: () => Date
}

/** An agent that may have a message and no task. */
export interface DueAgent {
  readonly sessionId: SessionId
  readonly agentId: AgentInstanceId
}

/**
 * `Idle`: there was nothing to do. `Failed`: the message has failed or is withdrawn. `Started`: it has a task, which waits where the target was
 * offline. `hasRun`: the dispatcher has the task already.
 */
export type TurnResult =
  | { readonly _tag: "Idle" | "Failed" }
  | { readonly _tag: "Started"; readonly targetId: DeviceId; readonly hasRun: boolean }

const idle: TurnResult = { _tag: "Idle" }

const groupIdRows = storedRows("task_groups", Schema.Struct({ id: TaskGroupId }))

const sessionPlaceRows = storedRows("sessions", Schema.Struct({ project_id: ProjectId, state: SessionState }))

export const deliverNextTurn = (
  services: DeliveryServices,
  due: DueAgent,
  patienceMs: number
): Effect.Effect<TurnResult, SqlError.SqlError> =>
  limitLockWait(services.sql, patienceMs).pipe(
    Effect.andThen(deliver(services, due)),
    plannedTransaction(services.sql),
    Effect.withSpan("NextTurn.deliverNextTurn")
  )

const deliver = Effect.fnUntraced(function* (services: DeliveryServices, due: DueAgent) {
  const { sql } = services
  const { agentId, sessionId } = due
  const findAgent = findSessionAgent(sql, sessionId, agentId)
  const chosen = yield* findAgent
  if (chosen === undefined || chosen.closed_at !== null) return yield* withdraw(services, due, agentId)
  yield* sql`SELECT pg_advisory_xact_lock(hashtextextended(${`place ${sharedPlaceOf(chosen) ?? chosen.id}`}, 0))`
  yield* sql`
    SELECT 1 FROM projects WHERE id = (SELECT project_id FROM sessions WHERE id = ${sessionId}) FOR KEY SHARE`
  const session = yield* sessionPlaceRows.first(
    sql`SELECT project_id, state FROM sessions WHERE id = ${sessionId} FOR NO KEY UPDATE`
  )
  // Returned from a run that ended after the session was archived.
  if (session?.state !== "active") return yield* withdraw(services, due)
  const agent = yield* findAgent
  if (agent === undefined || agent.closed_at !== null || (yield* isBusy(sql, agent))) return idle
  const message = yield* userMessageRows.first(sql`
    SELECT ${sql.literal(MESSAGE_COLUMNS)} FROM messages
    WHERE session_id = ${sessionId} AND recipient = ${agentId} AND delivery = 'pending' AND send_when = 'next'
      AND task_id IS NULL AND NOT held AND (expires_at IS NULL OR expires_at > ${services.now()}) ORDER BY id LIMIT 1`)
  if (message === undefined) return idle
  const authors = [message.user_id, ...message.contributors]
  const refusal = yield* findAuthorRefusal(services.sql, services.targets, authors, session.project_id, agent)
  if (refusal !== undefined) return yield* fail(services, agent, message, refusal)
  return yield* start(services, session.project_id, agent, message)
})

const start = Effect.fnUntraced(function* (
  services: DeliveryServices,
  projectId: ProjectId,
  agent: SessionAgentRow,
  message: UserMessageRow
) {
  const { audit, sql, tasks } = services
  const { attempt, id: messageId, session_id, user_id: author } = message
  const route = yield* findTurnRoute(services, agent, message)
  const tooOld = yield* findAttachmentRefusal(services.targets, agent.target_id, message.attachments)
  if (tooOld !== undefined) return yield* fail(services, agent, message, tooOld)
  const id = derivedId<TaskId>("tsk", message.created_at.getTime(), `${messageId} ${attempt}`)
  const claim = { principal: author, subject: projectId }
  const proof = yield* Effect.orDie(Effect.fromResult(prove("task.create", claim, undefined)))
  const turn = {
    agentInstanceId: agent.id,
    place: sharedPlaceOf(agent),
    messageId,
    requesters: [...new Set([...message.contributors, ...route.prompt.authors])],
    isCandidate: agent.group_id !== null,
    groupId: route.resume === undefined ? yield* findOpenGroup(sql, agent) : undefined,
    attachments: attachmentsOfRun(message.attachments, route.prompt.attachments)
  }
  const creation = tasks.create(proof, id, taskOf(projectId, agent, message, route), turn)
  const created = yield* Effect.result(sql.withTransaction(creation))
  if (Result.isFailure(created)) {
    const { failure } = created
    return yield* failure instanceof SqlError.SqlError
      ? Effect.fail(failure)
      : fail(services, agent, message, failure)
  }
  yield* changeMessage(
    sql,
    session_id,
    messageId,
    sql`task_id = ${id}, context = ${route.context}, waits_for = NULL`,
    sql`delivery = 'pending'`
  )
  // The message's id: no request causes the delivery.
  const requestId = messageId as string as RequestId
  yield* audit.record({
    action: "task.create",
    resource: id,
    projectId,
    actor: author,
    requestId,
    outcome: "allowed",
    code: null
  })
  const started: TurnResult = {
    _tag: "Started",
    targetId: agent.target_id,
    hasRun: created.success.runId !== undefined
  }
  return started
})

/** The group of a candidate, until one is continued: what does not resume an earlier run begins with the files of the group. */
const findOpenGroup = (sql: SqlClient.SqlClient, { group_id }: SessionAgentRow) =>
  Effect.map(
    groupIdRows.first(sql`SELECT id FROM task_groups WHERE id = ${group_id} AND continued_task_id IS NULL`),
    (row) => row?.id
  )

const taskOf = (
  projectId: ProjectId,
  { agent_id: agentId, isolation, target_id: targetId, workspace }: SessionAgentRow,
  message: UserMessageRow,
  { prompt, resume }: TurnRoute
): CreateTask => {
  const { expires_at, mode, model, on_offline, session_id: sessionId } = message
  return {
    projectId,
    targetId,
    workspace,
    agentId,
    sessionId,
    input: { text: prompt.text },
    mode: mode ?? "ask",
    onOffline: on_offline ?? "fail",
    // The schema of the message has checked the model.
    ...(model === null ? {} : { model }),
    ...limitsIn(message),
    ...(isolation === null ? {} : { isolation }),
    ...(resume === undefined ? {} : { resume }),
    ...(expires_at === null ? {} : { expiresAt: expires_at.toISOString() })
  }
}

/** Without an agent, or in a session that is read-only, a message has no next turn. */
const withdraw = Effect.fnUntraced(function* (
  { sql }: DeliveryServices,
  { sessionId }: DueAgent,
  recipient?: AgentInstanceId
) {
  yield* withdrawUndelivered(sql, sessionId, recipient)
  const ended: TurnResult = { _tag: "Failed" }
  return ended
})

const fail = Effect.fnUntraced(function* (
  { now, sql }: DeliveryServices,
  agent: SessionAgentRow,
  { id, session_id }: UserMessageRow,
  refusal: Coded<ErrorCode>
) {
  const { code } = refusal
  const error = JSON.stringify(failureOf(refusal))
  yield* changeMessage(
    sql,
    session_id,
    id,
    sql`delivery = 'failed', error = ${error}`,
    sql`delivery = 'pending'`
  )
  yield* holdMessages(sql, session_id, agent.id, { reason: "failed", code, since: now().toISOString() })
  const failed: TurnResult = { _tag: "Failed" }
  return failed
})

/**
 * Whether a task is open at the agent or its place, or one has ended whose message is not settled yet: if it failed, it holds those after it. A run
 * of a revoked target never ends here, so it keeps no message waiting.
 */
const isBusy = (sql: SqlClient.SqlClient, agent: SessionAgentRow) =>
  Effect.map(
    sql`
      SELECT 1 WHERE NOT EXISTS (SELECT 1 FROM devices WHERE id = ${agent.target_id} AND revoked_at IS NOT NULL)
        AND (
          EXISTS (
            SELECT 1 FROM tasks WHERE state IN ${openTaskStates(sql)}
              AND (agent_instance_id = ${agent.id} OR place = ${sharedPlaceOf(agent) ?? null})
          )
          OR EXISTS (
            SELECT 1 FROM messages WHERE session_id = ${agent.session_id} AND recipient = ${agent.id}
              AND delivery = 'pending' AND send_when = 'next' AND task_id IS NOT NULL
          )
        )`,
    (rows) => rows.length > 0
  )

/** How a message reaches its agent: in the runtime's own conversation, in a new one, or in a new one that begins with a transcript. */
interface TurnRoute {
  readonly context: DeliveryContext
  readonly resume?: RunId
  readonly prompt: TranscribedPrompt
}

const findTurnRoute = Effect.fnUntraced(function* (
  { sql, targets }: { readonly sql: SqlClient.SqlClient; readonly targets: Targets["Service"] },
  agent: SessionAgentRow,
  { context, id, session_id, text }: UserMessageRow
) {
  const prompt = { text, authors: [], attachments: [] }
  const isAgain = context === "transcript"
  if (agent.conversation_run_id !== null && !isAgain) {
    const offer = yield* targets.lastOffer(agent.target_id)
    const offered = findAgent(offer?.agents, agent.agent_id)
    // An agent that is not offered is refused with its own error.
    if (offered === undefined || offered.capabilities.resume) {
      const resumed: TurnRoute = { context: "resumed", resume: agent.conversation_run_id, prompt }
      return resumed
    }
  }
  const earlier = yield* sql`
    SELECT 1 FROM messages WHERE session_id = ${session_id} AND id < ${id}
      AND ((recipient = ${agent.id} AND delivery = 'delivered') OR agent_instance_id = ${agent.id}) LIMIT 1`
  const route: TurnRoute =
    earlier.length === 0 && !isAgain
      ? { context: "new", prompt }
      : { context: "transcript", prompt: yield* withTranscript(sql, agent, id, text) }
  return route
})
