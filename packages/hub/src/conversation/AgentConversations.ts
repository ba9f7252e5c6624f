/**
 * Conversations by their agents, for clients that show one agent of a session: sessions with an agent in a workspace, what the agents of sessions do
 * now, and the runs of one agent with the messages that they began with.
 *
 * Does not: authorize. Callers have a proof for the project or the session.
 */
import {
  AgentId,
  AgentInstanceId,
  type DeviceId,
  MessageId,
  type ProjectId,
  RunId,
  SessionId,
  type UserId,
  type WorkspaceId
} from "@corral/domain/identity/Ids"
import { HubRunStatus } from "@corral/domain/hub-api/HubRun"
import type { Session } from "@corral/domain/session/Session"
import { Context, Effect, Layer, Schema } from "effect"
import { SqlClient, type SqlError, type Statement } from "effect/sql"
import {
  agentInstanceOf,
  placeOf,
  SESSION_AGENT_COLUMNS,
  sessionAgentRows
} from "../session/SessionAgentStore.ts"
import {
  openChangeSets,
  SESSION_COLUMNS,
  sessionOf,
  sessionRows,
  unreadMessages
} from "../session/SessionTable.ts"
import { limitTo, type Position } from "../store/ListPage.ts"
import { endedRunStates } from "../store/StateLists.ts"
import { storedRows, Timestamp } from "../store/StoredRows.ts"

/** A workspace of a target. */
export interface AgentWorkspace {
  readonly targetId: DeviceId
  readonly workspace: WorkspaceId
}

/** Sessions of one project, or of all projects that a user may read. */
export interface ConversationFilter {
  readonly reader: UserId
  readonly projectId: ProjectId | undefined
  /** Only sessions with an agent there. */
  readonly place: AgentWorkspace | undefined
}

const changedSessionRows = storedRows("sessions", Schema.Struct({ id: SessionId, updated_at: Timestamp }))
export type ChangedSession = Effect.Success<ReturnType<typeof changedSessionRows.all>>[number]

const workRows = storedRows(
  "runs",
  Schema.Struct({
    id: RunId,
    session_id: SessionId,
    agent_instance_id: Schema.NullOr(AgentInstanceId),
    state: HubRunStatus
  })
)

/** A run that has not ended, with the agent that it belongs to. */
export interface AgentWork {
  readonly agent: AgentInstanceId | undefined
  readonly state: HubRunStatus
}

/** A session with its agents and what they do now. */
export interface Conversation {
  readonly session: Session
  readonly work: ReadonlyArray<AgentWork>
}

const begunRows = storedRows("runs", Schema.Struct({ id: RunId, message_id: Schema.NullOr(MessageId) }))
const namedRows = storedRows("session_agents", Schema.Struct({ agent_id: AgentId, label: Schema.String }))
const sessionOfRunRows = storedRows("runs", Schema.Struct({ session_id: SessionId }))

/** Agents that a client is shown besides those that targets offer. */
const MAX_USED = 100

type Read<A> = Effect.Effect<ReadonlyArray<A>, SqlError.SqlError>

export class AgentConversations extends Context.Service<
  AgentConversations,
  {
    /** Sessions that have an agent, the last changed first, after a position. */
    readonly sessions: (
      filter: ConversationFilter,
      after: Position | undefined,
      limit: number
    ) => Read<ChangedSession>
    /** These sessions as one user reads them, in the order of the ids. Each that is missing is left out. */
    readonly read: (reader: UserId, ids: ReadonlyArray<SessionId>) => Read<Conversation>
    /** Runs of an agent of the session before `before`, newest first, without those that another run replaces. */
    readonly runs: (
      sessionId: SessionId,
      agent: string,
      before: string | undefined,
      limit: number
    ) => Read<{ readonly id: RunId; readonly messageId: MessageId | undefined }>
    /** Agents that sessions of the project have used there. */
    readonly usedAgents: (
      projectId: ProjectId,
      place: AgentWorkspace
    ) => Read<{ readonly id: AgentId; readonly label: string }>
    /** Sessions of these runs, each once. */
    readonly sessionsOf: (runs: ReadonlyArray<RunId>) => Read<SessionId>
  }
>()("corral/hub/AgentConversations") {
  static readonly layer = Layer.effect(
    AgentConversations,
    Effect.map(SqlClient.SqlClient, (sql) =>
      AgentConversations.of({
        sessions: listSessions(sql),

        read: readSessions(sql),

        runs: Effect.fnUntraced(function* (sessionId, agent, before, limit) {
          const rows = yield* begunRows.all(sql`
            SELECT r.id, t.message_id FROM runs r JOIN tasks t ON t.id = r.task_id
            WHERE r.session_id = ${sessionId} AND t.agent_instance_id = ${agent} AND r.replaced_for IS NULL
            ${before === undefined ? sql`` : sql`AND r.id < ${before}`}
            ORDER BY r.id DESC ${limitTo(sql, limit)}`)
          return rows.map(({ id, message_id }) => ({ id, messageId: message_id ?? undefined }))
        }),

        usedAgents: Effect.fnUntraced(function* (projectId, { targetId, workspace }) {
          const rows = yield* namedRows.all(sql`
            SELECT a.agent_id, min(a.label) AS label FROM session_agents a JOIN sessions s ON s.id = a.session_id
            WHERE s.project_id = ${projectId} AND a.place = ${placeOf(targetId, workspace)}
            GROUP BY a.agent_id ORDER BY a.agent_id ${limitTo(sql, MAX_USED)}`)
          return rows.map(({ agent_id, label }) => ({ id: agent_id, label }))
        }),

        sessionsOf: Effect.fnUntraced(function* (runs) {
          const rows = yield* sessionOfRunRows.all(sql`
            SELECT DISTINCT session_id FROM runs WHERE id = ANY(${runs}::text[]) AND session_id IS NOT NULL`)
          return rows.map(({ session_id }) => session_id)
        })
      })
    )
  )
}

/** One statement for each table, however many sessions there are. */
const readSessions = (sql: SqlClient.SqlClient) =>
  Effect.fnUntraced(function* (reader: UserId, ids: ReadonlyArray<SessionId>) {
    if (ids.length === 0) return []
    const rows = yield* sessionRows.all(sql`
      SELECT ${sql.literal(SESSION_COLUMNS)}, ${unreadMessages(sql, reader, "sessions.id")} AS unread,
        ${openChangeSets(sql, "sessions.id")} AS open_changes
      FROM sessions WHERE id = ANY(${ids}::text[])`)
    const agents = yield* sessionAgentRows.all(sql`
      SELECT ${sql.literal(SESSION_AGENT_COLUMNS)} FROM session_agents WHERE session_id = ANY(${ids}::text[]) ORDER BY id`)
    const work = yield* workRows.all(sql`
      SELECT r.id, r.session_id, t.agent_instance_id, r.state FROM runs r LEFT JOIN tasks t ON t.id = r.task_id
      WHERE r.session_id = ANY(${ids}::text[]) AND r.state NOT IN ${endedRunStates(sql)} ORDER BY r.id`)
    const bySession = new Map(rows.map((row) => [row.id, row]))
    return ids.flatMap((id): ReadonlyArray<Conversation> => {
      const row = bySession.get(id)
      if (row === undefined) return []
      const instances = agents.filter(({ session_id }) => session_id === id).map(agentInstanceOf)
      const live = work.filter(({ session_id }) => session_id === id)
      const session = sessionOf(
        row,
        instances,
        live.map((run) => run.id)
      )
      const now = live.map(({ agent_instance_id, state }) => ({
        agent: agent_instance_id ?? undefined,
        state
      }))
      return [{ session, work: now }]
    })
  })

/** Each readable project is read in the order of its index, at most one page. */
const listSessions = (sql: SqlClient.SqlClient) =>
  Effect.fnUntraced(function* (
    { place, projectId, reader }: ConversationFilter,
    after: Position | undefined,
    limit: number
  ) {
    const there = place === undefined ? sql`` : sql`AND a.place = ${placeOf(place.targetId, place.workspace)}`
    const sessionsOf = (project: Statement.Fragment) => sql`
      SELECT s.id, s.updated_at FROM sessions s WHERE s.project_id = ${project}
        AND EXISTS (SELECT 1 FROM session_agents a WHERE a.session_id = s.id ${there})
        ${after === undefined ? sql`` : sql`AND (s.updated_at, s.id) < (${new Date(after.at)}, ${after.id})`}
      ORDER BY s.updated_at DESC, s.id DESC ${limitTo(sql, limit)}`
    return yield* changedSessionRows.all(
      projectId === undefined
        ? sql`
            SELECT found.* FROM (
              SELECT project_id FROM project_members WHERE user_id = ${reader}
              UNION SELECT id FROM projects WHERE visibility = 'internal'
            ) AS readable CROSS JOIN LATERAL (${sessionsOf(sql`readable.project_id`)}) AS found
            ORDER BY found.updated_at DESC, found.id DESC ${limitTo(sql, limit)}`
        : sessionsOf(sql`${projectId}`)
    )
  })
