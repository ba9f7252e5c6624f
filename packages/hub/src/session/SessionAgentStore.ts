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
import type { AgentInstanceId, DeviceId, SessionId, UserId } from "@corral/domain/identity/Ids"
import { mint } from "@corral/service/Identifiers"
import { Clock, Context, Effect, Layer } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { Inventory } from "../device/Inventory.ts"
import { limitTo } from "../store/Limit.ts"
import {
  agentInstanceOf,
  SESSION_AGENT_COLUMNS,
  type SessionAgentRow,
  sessionAgentRows
} from "./SessionAgentRow.ts"
import { lockActiveSession } from "./SessionLock.ts"

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
          { agentId, label, workspace }
        ) {
          const { agents, workspaces } = yield* inventory.offerOf(target)
          const agent = agents.find(({ id }) => id === agentId)
          if (agent === undefined) return yield* new InvalidAgentId()
          if (!workspaces.some(({ id }) => id === workspace)) return yield* new WorkspaceOutsideAllowlist()
          const at = yield* open(proof, sessionId)
          const row: SessionAgentRow = {
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
          return agentInstanceOf(row)
        }, sql.withTransaction),

        remove: Effect.fn("SessionAgentStore.remove")(function* (proof, sessionId, id) {
          yield* open(proof, sessionId)
          yield* sql`DELETE FROM session_agents WHERE session_id = ${sessionId} AND id = ${id}`
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

const columns = (sql: SqlClient.SqlClient) => sql.literal(SESSION_AGENT_COLUMNS)
