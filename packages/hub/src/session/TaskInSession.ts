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
  TaskGroupId,
  TaskId,
  UserId
} from "@corral/domain/identity/Ids"
import type { CommandAttachments } from "@corral/domain/link/EdgeCommand"
import { idsOfAgent } from "@corral/domain/offer/Offer"
import type { CreateRun } from "@corral/domain/run/Run"
import { titleFrom } from "@corral/domain/session/Session"
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
import { limitColumnsOf, touchSession } from "./SessionTable.ts"

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
  readonly candidate?: JoiningCandidate | undefined
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
  /** The group that the task begins in. */
  readonly groupId?: TaskGroupId | undefined
  /** Whether the agent is a candidate: its changes are checked. */
  readonly isCandidate?: boolean | undefined
}

/** A candidate: it has a new agent, with this label. */
export interface JoiningCandidate {
  readonly groupId: TaskGroupId
  readonly label: string
}

/** Adds the agent and the message. `undefined` in a session that is read-only. */
export const joinSession = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  task: TaskOfSession,
  now: Date
) {
  const { author, candidate, create, projectId, sessionId } = task
  yield* lockProject(sql, projectId)
  const touched = yield* touchSession(sql, projectId, sessionId, now)
  if (touched?.state !== "active") return undefined
  const at = touched.updated_at
  const matching = candidate === undefined ? yield* findMatching(sql, task) : undefined
  const agent = matching ?? (yield* addAgent(sql, task, at))
  const messageId = mint<MessageId>("msg", at.getTime())
  const message = {
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
    group_id: candidate?.groupId ?? null,
    created_at: at
  } as const
  yield* insertMessage(sql, message, titleFrom(create.input.text))
  const turn: TaskTurn = {
    agentInstanceId: agent.id,
    place: sharedPlaceOf({ place: agent.place, isolation: create.isolation ?? null }),
    messageId,
    requesters: [],
    groupId: candidate?.groupId,
    isCandidate: agent.group_id !== null
  }
  return turn
})

/** The agent that a task of the session belongs to: the default agent before others that match. None that is closed. */
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
    WHERE session_id = ${sessionId} AND closed_at IS NULL AND place = ${placeOf(targetId, create.workspace)} AND ${sql.in("agent_id", idsOfAgent(create.agentId))}
    ORDER BY agent_id = ${create.agentId} DESC, id = (SELECT default_agent FROM sessions WHERE id = ${sessionId}) DESC, id DESC LIMIT 1`)

const addAgent = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  { author, candidate, create, findLabel, sessionId, targetId }: TaskOfSession,
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
    group_id: candidate?.groupId ?? null,
    closed_at: null,
    added_by: author,
    added_at: at
  }
  yield* insertSessionAgent(sql, row)
  return row
})
