/**
 * Agents of a session, in the order of their addition, and the codec of the table `session_agents`. An agent is a runtime or profile
 * of a target, bound to a workspace of that target.
 *
 * Guarantees: the target offers both when an agent is added. A task checks the offer again.
 */
import type { Proof } from "@corral/domain/access/Authorization"
import {
  type Conflict,
  InvalidAgentId,
  PermissionDenied,
  type SchemaValidationFailed,
  WorkspaceOutsideAllowlist
} from "@corral/domain/errors/Failures"
import {
  AgentId,
  AgentInstanceId,
  DeviceId,
  RunId,
  SessionId,
  TaskGroupId,
  UserId,
  WorkspaceId
} from "@corral/domain/identity/Ids"
import { findAgent } from "@corral/domain/offer/Offer"
import {
  type AddAgent,
  type AgentInstance,
  HeldQueue,
  type UpdateAgent
} from "@corral/domain/run/AgentProfile"
import { isShared } from "@corral/domain/offer/Offer"
import { Isolation, RunMode } from "@corral/domain/run/Run"
import { mint } from "@corral/service/Identifiers"
import { Clock, Context, Effect, Layer, Schema } from "effect"
import { SqlClient, type SqlError, type Statement } from "effect/sql"
import { createHash } from "node:crypto"
import { Inventory } from "../device/Inventory.ts"
import { findBudgetRefusal, findOfferedAgent } from "../device/DeviceRow.ts"
import { findRunDefaults } from "../project/ProjectRow.ts"
import { limitTo } from "../store/ListPage.ts"
import { notify } from "../store/Notices.ts"
import { jsonColumn, storedRows, Timestamp } from "../store/StoredRows.ts"
import { withdrawUndelivered } from "./MessageStore.ts"
import { lockActiveSession, limitColumns, limitColumnsOf, limitsIn, storedBudget } from "./SessionTable.ts"

const SessionAgentRow = Schema.Struct({
  id: AgentInstanceId,
  session_id: SessionId,
  agent_id: AgentId,
  label: Schema.String,
  target_id: DeviceId,
  workspace: WorkspaceId,
  mode: RunMode,
  model: Schema.NullOr(Schema.String),
  isolation: Schema.NullOr(Isolation),
  ...limitColumns,
  /** Of `placeOf`. */
  place: Schema.String,
  conversation_run_id: Schema.NullOr(RunId),
  /** Why messages of the agent are held. Read as NULL without such messages. */
  held: Schema.NullOr(jsonColumn(HeldQueue)),
  /** Of a candidate. */
  group_id: Schema.NullOr(TaskGroupId),
  /** Another candidate was continued. */
  closed_at: Schema.NullOr(Timestamp),
  added_by: UserId,
  added_at: Timestamp
})
export type SessionAgentRow = typeof SessionAgentRow.Type

const HELD = `CASE WHEN EXISTS (
  SELECT 1 FROM messages m WHERE m.session_id = session_agents.session_id AND m.recipient = session_agents.id
    AND m.delivery = 'pending' AND m.held
) THEN held END AS held`

/** Of the table by its own name. */
export const SESSION_AGENT_COLUMNS = Object.keys(SessionAgentRow.fields)
  .map((column) => (column === "held" ? HELD : column))
  .join(", ")

export const sessionAgentRows = storedRows("session_agents", SessionAgentRow)

export const agentInstanceOf = (row: SessionAgentRow): AgentInstance => ({
  id: row.id,
  sessionId: row.session_id,
  agentId: row.agent_id,
  label: row.label,
  targetId: row.target_id,
  workspace: row.workspace,
  mode: row.mode,
  ...(row.model === null ? {} : { model: row.model }),
  ...(row.isolation === null ? {} : { isolation: row.isolation }),
  ...limitsIn(row),
  ...(row.held === null ? {} : { held: row.held }),
  ...(row.group_id === null ? {} : { groupId: row.group_id }),
  ...(row.closed_at === null ? {} : { closedAt: row.closed_at.toISOString() }),
  addedBy: row.added_by,
  addedAt: row.added_at.toISOString()
})

/** Identifies a folder of a target. A hash, because names may be longer than an index entry. */
export const placeOf = (targetId: DeviceId, workspace: WorkspaceId): string =>
  createHash("md5").update(`${targetId} ${workspace}`).digest("hex")

/** The place at which the agent takes turns with others; `undefined` where it has its own checkout or layer. */
export const sharedPlaceOf = ({
  isolation,
  place
}: Pick<SessionAgentRow, "isolation" | "place">): string | undefined =>
  isShared(isolation) ? place : undefined

export class SessionAgentStore extends Context.Service<
  SessionAgentStore,
  {
    /** Agents after an id. */
    readonly list: (
      proof: Proof<"project.read">,
      sessionId: SessionId,
      after: string | undefined,
      limit: number
    ) => Effect.Effect<ReadonlyArray<AgentInstance>, SqlError.SqlError>
    readonly add: (
      proof: Proof<"session.write">,
      sessionId: SessionId,
      target: Proof<"task.route">,
      agent: Omit<AddAgent, "targetId">
    ) => Effect.Effect<
      AgentInstance,
      | Conflict
      | InvalidAgentId
      | PermissionDenied
      | SchemaValidationFailed
      | SqlError.SqlError
      | WorkspaceOutsideAllowlist
    >
    /** Changes the limits of later turns. */
    readonly update: (
      proof: Proof<"session.write">,
      sessionId: SessionId,
      id: AgentInstanceId,
      change: UpdateAgent
    ) => Effect.Effect<
      AgentInstance,
      Conflict | PermissionDenied | SchemaValidationFailed | SqlError.SqlError
    >
    readonly remove: (
      proof: Proof<"session.write">,
      sessionId: SessionId,
      id: AgentInstanceId
    ) => Effect.Effect<void, Conflict | PermissionDenied | SqlError.SqlError>
  }
>()("corral/hub/SessionAgents") {
  static readonly layer = Layer.effect(
    SessionAgentStore,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const clock = yield* Clock.Clock
      const inventory = yield* Inventory
      const open = (proof: Proof<"session.write">, id: SessionId) =>
        Effect.suspend(() => lockActiveSession(sql, proof, id, new Date(clock.currentTimeMillisUnsafe())))

      return SessionAgentStore.of({
        list: Effect.fnUntraced(function* ({ subject }, sessionId, after, limit) {
          const rows = yield* sessionAgentRows.all(sql`
            SELECT ${columns(sql)} FROM session_agents
            WHERE session_id = (SELECT id FROM sessions WHERE id = ${sessionId} AND project_id = ${subject})
            ${after === undefined ? sql`` : sql`AND id > ${after}`}
            ORDER BY id ${limitTo(sql, limit)}`)
          return rows.map(agentInstanceOf)
        }),

        add: Effect.fn("SessionAgentStore.add")(function* (
          proof,
          sessionId,
          target,
          { agentId, budget, isolation, label, mode, model, timeoutMs, workspace }
        ) {
          const { agents, workspaces } = yield* inventory.offerOf(target)
          const agent = findAgent(agents, agentId)
          if (agent === undefined) return yield* new InvalidAgentId()
          if (!workspaces.some(({ id }) => id === workspace)) return yield* new WorkspaceOutsideAllowlist()
          const refusal = findBudgetRefusal(agent, budget)
          if (refusal !== undefined) return yield* refusal
          const at = yield* open(proof, sessionId)
          const defaults = yield* findRunDefaults(sql, proof.subject)
          const row: SessionAgentRow = {
            id: mint<AgentInstanceId>("agt", at.getTime()),
            session_id: sessionId,
            agent_id: agent.id,
            label: label ?? storableLabel(agent.label),
            target_id: target.subject as DeviceId,
            workspace,
            mode: mode ?? "ask",
            model: model ?? null,
            // So that later turns keep it, also after another default.
            isolation: isolation ?? defaults.isolation ?? null,
            ...limitColumnsOf({ budget, timeoutMs }),
            place: placeOf(target.subject as DeviceId, workspace),
            conversation_run_id: null,
            held: null,
            group_id: null,
            closed_at: null,
            added_by: proof.principal as UserId,
            added_at: at
          }
          yield* insertSessionAgent(sql, row)
          return agentInstanceOf(row)
        }, sql.withTransaction),

        update: Effect.fn("SessionAgentStore.update")(function* (
          proof,
          sessionId,
          id,
          { budget, timeoutMs }
        ) {
          yield* open(proof, sessionId)
          const row = yield* findSessionAgent(sql, sessionId, id)
          if (row === undefined) return yield* new PermissionDenied()
          const offered = yield* findOfferedAgent(sql, row.target_id, row.agent_id)
          const refusal = offered && findBudgetRefusal(offered, budget ?? undefined)
          if (refusal !== undefined) return yield* refusal
          const changed: SessionAgentRow = {
            ...row,
            ...(budget === undefined ? {} : { budget }),
            ...(timeoutMs === undefined ? {} : { timeout_ms: timeoutMs })
          }
          yield* sql`
            UPDATE session_agents SET budget = ${storedBudget(changed.budget)}, timeout_ms = ${changed.timeout_ms}
            WHERE session_id = ${sessionId} AND id = ${id}`
          return agentInstanceOf(changed)
        }, sql.withTransaction),

        remove: Effect.fn("SessionAgentStore.remove")(function* (proof, sessionId, id) {
          yield* open(proof, sessionId)
          yield* withdrawUndelivered(sql, sessionId, id)
          yield* sql`DELETE FROM session_agents WHERE session_id = ${sessionId} AND id = ${id}`
          yield* sql`
            UPDATE sessions SET default_agent = (
              SELECT max(id) FROM session_agents WHERE session_id = ${sessionId} AND closed_at IS NULL
            )
            WHERE id = ${sessionId} AND default_agent = ${id}`
          yield* notify(sql, "session", sessionId)
        }, sql.withTransaction)
      })
    })
  )
}

/** All agents of a session. Callers have a proof for the session. */
export const agentsOf = (
  sql: SqlClient.SqlClient,
  sessionId: SessionId
): Effect.Effect<ReadonlyArray<AgentInstance>, SqlError.SqlError> =>
  Effect.map(
    sessionAgentRows.all(
      sql`SELECT ${columns(sql)} FROM session_agents WHERE session_id = ${sessionId} ORDER BY id`
    ),
    (rows) => rows.map(agentInstanceOf)
  )

/** An agent of the session. The id may be an expression. No agent has the id NULL. */
export const findSessionAgent = (
  sql: SqlClient.SqlClient,
  sessionId: SessionId,
  id: string | Statement.Fragment | null
): Effect.Effect<SessionAgentRow | undefined, SqlError.SqlError> =>
  sessionAgentRows.first(
    sql`SELECT ${columns(sql)} FROM session_agents WHERE session_id = ${sessionId} AND id = ${id}`
  )

/** Whether the session has this agent, and it receives messages. */
export const isOpenAgentOf = (
  sql: SqlClient.SqlClient,
  sessionId: SessionId,
  id: AgentInstanceId
): Effect.Effect<boolean, SqlError.SqlError> =>
  Effect.map(
    sql`SELECT 1 FROM session_agents WHERE session_id = ${sessionId} AND id = ${id} AND closed_at IS NULL`,
    (rows) => rows.length > 0
  )

/** Adds the agent as the session's default. */
export const insertSessionAgent = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  row: SessionAgentRow
) {
  yield* sql`INSERT INTO session_agents ${sql.insert({ ...row, budget: storedBudget(row.budget) })}`
  yield* sql`UPDATE sessions SET default_agent = ${row.id} WHERE id = ${row.session_id}`
  yield* notify(sql, "session", row.session_id)
})

/** A label that a target reported, so not yet fit for a table. */
export const storableLabel = (label: string): string =>
  label.replaceAll("\0", "").slice(0, 100).toWellFormed()

const columns = (sql: SqlClient.SqlClient) => sql.literal(SESSION_AGENT_COLUMNS)
