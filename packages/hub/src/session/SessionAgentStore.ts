/**
 * Agents of a session, in the order of their addition. An agent is a runtime or profile of a target, bound to a workspace of that target.
 *
 * Guarantees: the target offers both when an agent is added. A task checks the offer again.
 */
import type { AddAgent, AgentInstance } from "@corral/domain/run/AgentProfile"
import type { Proof } from "@corral/domain/access/Authorization"
import {
  type Conflict,
  InvalidAgentId,
  type PermissionDenied,
  WorkspaceOutsideAllowlist
} from "@corral/domain/errors/Failures"
import type {
  AgentId,
  AgentInstanceId,
  DeviceId,
  SessionId,
  UserId,
  WorkspaceId
} from "@corral/domain/identity/Ids"
import { mint } from "@corral/service/Identifiers"
import { Clock, Context, Effect, Layer } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { Inventory } from "../device/Inventory.ts"
import { openSession } from "./OpenSession.ts"
import { limitTo } from "../store/Limit.ts"

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
      Conflict | InvalidAgentId | PermissionDenied | SqlError.SqlError | WorkspaceOutsideAllowlist
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
        Effect.suspend(() => openSession(sql, proof, id, new Date(clock.currentTimeMillisUnsafe())))

      return SessionAgentStore.of({
        list: ({ subject }, sessionId, after, limit) =>
          sql<AgentRow>`
            SELECT ${columns(sql)} FROM session_agents
            WHERE session_id = (SELECT id FROM sessions WHERE id = ${sessionId} AND project_id = ${subject})
            ${after === undefined ? sql`` : sql`AND id > ${after}`}
            ORDER BY id ${limitTo(sql, limit)}`.pipe(Effect.map((rows) => rows.map(instanceOf))),

        add: (proof, sessionId, target, { agentId, label, workspace }) =>
          sql.withTransaction(
            Effect.gen(function* () {
              const { agents, workspaces } = yield* inventory.offerOf(target)
              const agent = agents.find(({ id }) => id === agentId)
              if (agent === undefined) return yield* new InvalidAgentId()
              if (!workspaces.some(({ id }) => id === workspace))
                return yield* new WorkspaceOutsideAllowlist()
              const at = yield* open(proof, sessionId)
              const row: AgentRow = {
                id: mint<AgentInstanceId>("agt", at.getTime()),
                session_id: sessionId,
                agent_id: agentId,
                // Reported by the target, so not yet fit for a table.
                label: label ?? agent.label.replaceAll("\0", "").slice(0, 100).toWellFormed(),
                target_id: target.subject as DeviceId,
                workspace,
                added_by: proof.principal as UserId,
                added_at: at
              }
              yield* sql`INSERT INTO session_agents ${sql.insert({ ...row })}`
              return instanceOf(row)
            })
          ),

        remove: (proof, sessionId, id) =>
          sql.withTransaction(
            Effect.andThen(
              open(proof, sessionId),
              sql`DELETE FROM session_agents WHERE session_id = ${sessionId} AND id = ${id}`
            )
          )
      })
    })
  )
}

/** All agents of a session. Callers have a proof for the session. */
export const agentsOf = (
  sql: SqlClient.SqlClient,
  sessionId: SessionId
): Effect.Effect<ReadonlyArray<AgentInstance>, SqlError.SqlError> =>
  sql<AgentRow>`SELECT ${columns(sql)} FROM session_agents WHERE session_id = ${sessionId} ORDER BY id`.pipe(
    Effect.map((rows) => rows.map(instanceOf))
  )

const columns = (sql: SqlClient.SqlClient) =>
  sql.literal("id, session_id, agent_id, label, target_id, workspace, added_by, added_at")

interface AgentRow {
  readonly id: AgentInstanceId
  readonly session_id: SessionId
  readonly agent_id: AgentId
  readonly label: string
  readonly target_id: DeviceId
  readonly workspace: WorkspaceId
  readonly added_by: UserId
  readonly added_at: Date
}

const instanceOf = (row: AgentRow): AgentInstance => ({
  id: row.id,
  sessionId: row.session_id,
  agentId: row.agent_id,
  label: row.label,
  targetId: row.target_id,
  workspace: row.workspace,
  addedBy: row.added_by,
  addedAt: row.added_at.toISOString()
})
