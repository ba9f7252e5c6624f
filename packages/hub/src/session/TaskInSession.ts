/**
 * A task that was created in a session: it belongs to the matching agent, which is added if it is missing, and its prompt is a message.
 *
 * Does not wait for a turn: a task that is created directly starts at once, and messages wait until it ends.
 */
import type {
  AgentInstanceId,
  DeviceId,
  MessageId,
  ProjectId,
  SessionId,
  TaskId,
  UserId
} from "@corral/domain/identity/Ids"
import type { CommandAttachments } from "@corral/domain/link/EdgeCommand"
import { idsOfAgent } from "@corral/domain/offer/Offer"
import type { CreateRun } from "@corral/domain/run/Run"
import type { OnOffline } from "@corral/domain/task/Task"
import { mint } from "@corral/service/Identifiers"
import { Effect } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import { lockProject } from "../project/ProjectRow.ts"
import { insertMessage, noteColumns } from "./MessageStore.ts"
import {
  insertSessionAgent,
  placeOf,
  SESSION_AGENT_COLUMNS,
  type SessionAgentRow,
  sessionAgentRows,
  sharedPlaceOf
} from "./SessionAgentStore.ts"
import { limitColumnsOf } from "./TurnLimits.ts"
import { titleSession, touchSession } from "./SessionTable.ts"

/** A task that is about to be stored. */
export interface TaskOfSession {
  readonly id: TaskId
  readonly projectId: ProjectId
  readonly sessionId: SessionId
  readonly targetId: DeviceId
  readonly author: UserId
  readonly create: CreateRun
  readonly onOffline: OnOffline
  readonly expiresAt: Date | null
  /** Finds the label of a new agent. */
  readonly findLabel: Effect.Effect<string, SqlError.SqlError>
}

/** What a task of a session has besides its request. */
export interface TaskTurn {
  readonly agentInstanceId: AgentInstanceId
  readonly place: string | undefined
  readonly messageId: MessageId
  /** Users besides the author whose messages the run receives. */
  readonly requesters: ReadonlyArray<UserId>
  /** Files that the run receives. */
  readonly attachments?: CommandAttachments | undefined
}

/** Adds the agent and the message. `undefined` in a session that is read-only. */
export const joinSession = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  task: TaskOfSession,
  now: Date
) {
  const { author, create, projectId, sessionId } = task
  yield* lockProject(sql, projectId)
  const touched = yield* touchSession(sql, projectId, sessionId, now)
  if (touched?.state !== "active") return undefined
  const at = touched.updated_at
  const agent = (yield* findMatching(sql, task)) ?? (yield* addAgent(sql, task, at))
  const messageId = mint<MessageId>("msg", at.getTime())
  yield* insertMessage(sql, {
    ...noteColumns,
    id: messageId,
    session_id: sessionId,
    user_id: author,
    agent_instance_id: null,
    text: create.input.text,
    recipient: agent.id,
    send_when: "next",
    mode: create.mode,
    model: create.model ?? null,
    ...limitColumnsOf(create),
    on_offline: task.onOffline,
    expires_at: task.expiresAt,
    delivery: "pending",
    task_id: task.id,
    attempt: 1,
    from_task: true,
    created_at: at
  })
  yield* titleSession(sql, sessionId, create.input.text)
  const turn: TaskTurn = {
    agentInstanceId: agent.id,
    place: sharedPlaceOf({ place: agent.place, isolation: create.isolation ?? null }),
    messageId,
    requesters: []
  }
  return turn
})

/** The agent that a task of the session belongs to: the default agent before others that match. */
export const findMatching = (
  sql: SqlClient.SqlClient,
  {
    create,
    sessionId,
    targetId
  }: Pick<TaskOfSession, "sessionId" | "targetId"> & {
    readonly create: Pick<CreateRun, "agentId" | "workspace">
  }
) =>
  sessionAgentRows.first(sql`
    SELECT ${sql.literal(SESSION_AGENT_COLUMNS)} FROM session_agents
    WHERE session_id = ${sessionId} AND place = ${placeOf(targetId, create.workspace)} AND ${sql.in("agent_id", idsOfAgent(create.agentId))}
    ORDER BY agent_id = ${create.agentId} DESC, id = (SELECT default_agent FROM sessions WHERE id = ${sessionId}) DESC, id DESC LIMIT 1`)

const addAgent = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  { author, create, findLabel, sessionId, targetId }: TaskOfSession,
  at: Date
) {
  const row: SessionAgentRow = {
    id: mint<AgentInstanceId>("agt", at.getTime()),
    session_id: sessionId,
    agent_id: create.agentId,
    label: yield* findLabel,
    target_id: targetId,
    workspace: create.workspace,
    mode: create.mode,
    model: create.model ?? null,
    isolation: create.isolation ?? null,
    // The limits of a task are its own, and no default of later messages.
    ...limitColumnsOf({}),
    place: placeOf(targetId, create.workspace),
    conversation_run_id: null,
    held: null,
    added_by: author,
    added_at: at
  }
  yield* insertSessionAgent(sql, row)
  return row
})
