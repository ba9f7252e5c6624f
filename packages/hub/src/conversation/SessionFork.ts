/**
 * Fork of a session: a new session of the same project with the conversation up to a message.
 *
 * Guarantees: messages, notes and answers are copied as history, in their order and with their times; no copy is delivered again. Messages that
 * reached no agent are left out. The agents are copied without their runtimes' conversations, so the next turn begins with a transcript. Files of
 * messages belong to both sessions.
 * Does not: copy runs. An answer refers to the run of the original session.
 */
import type { Proof } from "@corral/domain/access/Authorization"
import { Conflict, PermissionDenied } from "@corral/domain/errors/Failures"
import {
  AgentInstanceId,
  MessageId,
  type ProjectId,
  type SessionId,
  type UserId
} from "@corral/domain/identity/Ids"
import { mint } from "@corral/service/Identifiers"
import { Clock, Context, Effect, Layer, Schema } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { shareUploads } from "../attachment/MessageAttachments.ts"
import { lockProject } from "../project/ProjectRow.ts"
import { limitTo } from "../store/ListPage.ts"
import { storedRows } from "../store/StoredRows.ts"

export class SessionFork extends Context.Service<
  SessionFork,
  {
    /** Returns the id of the new session. */
    readonly fork: (
      proof: Proof<"session.write">,
      sessionId: SessionId,
      messageId: MessageId
    ) => Effect.Effect<SessionId, Conflict | PermissionDenied | SqlError.SqlError>
  }
>()("corral/hub/SessionFork") {
  static readonly layer = Layer.effect(
    SessionFork,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const clock = yield* Clock.Clock
      return SessionFork.of({
        fork: Effect.fn("SessionFork.fork")(function* (proof, sessionId, messageId) {
          yield* lockProject(sql, proof.subject)
          const source = yield* forkedSessionRows.first(sql`
            SELECT s.title, s.default_agent FROM sessions s JOIN messages m ON m.session_id = s.id AND m.id = ${messageId}
            WHERE s.id = ${sessionId} AND s.project_id = ${proof.subject}`)
          if (source === undefined) return yield* new PermissionDenied()
          const now = clock.currentTimeMillisUnsafe()
          const messages = yield* findHistory(sql, sessionId, messageId, now)
          const agents = yield* forkedAgentRows.all(
            sql`SELECT id FROM session_agents WHERE session_id = ${sessionId} ORDER BY id`
          )
          const newAgents = new Map(
            agents.map(({ id }, i) => [id, mint<AgentInstanceId>("agt", now - agents.length + i)])
          )
          const id = mint<SessionId>("ses", now)
          const at = new Date(now)
          const session = {
            id,
            project_id: proof.subject as ProjectId,
            title: source.title,
            state: "active",
            created_by: proof.principal as UserId,
            created_at: at,
            updated_at: at,
            default_agent:
              source.default_agent === null ? null : (newAgents.get(source.default_agent) ?? null),
            message_version: messages.size
          }
          yield* sql`INSERT INTO sessions ${sql.insert(session)}`
          yield* copyAgents(sql, sessionId, session, newAgents)
          yield* copyMessages(sql, sessionId, id, messages, newAgents)
          yield* shareUploads(sql, id)
          return id
        }, sql.withTransaction)
      })
    })
  )
}

/** Messages of a fork. Beyond this, a fork is refused. */
const MAX_MESSAGES = 10_000

const forkedSessionRows = storedRows(
  "sessions",
  Schema.Struct({ title: Schema.String, default_agent: Schema.NullOr(AgentInstanceId) })
)
const forkedMessageRows = storedRows("messages", Schema.Struct({ id: MessageId }))
const forkedAgentRows = storedRows("session_agents", Schema.Struct({ id: AgentInstanceId }))

/** Messages up to one that are part of the conversation, each with the id of its copy. New ids have the same order. */
const findHistory = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  sessionId: SessionId,
  last: MessageId,
  now: number
) {
  const rows = yield* forkedMessageRows.all(sql`
    SELECT id FROM messages
    WHERE session_id = ${sessionId} AND id <= ${last} AND (delivery IS NULL OR delivery = 'delivered')
    ORDER BY id ${limitTo(sql, MAX_MESSAGES + 1)}`)
  if (rows.length > MAX_MESSAGES)
    return yield* new Conflict({
      message: `A conversation of more than ${MAX_MESSAGES} messages can't be forked.`
    })
  return new Map(rows.map(({ id }, i) => [id, mint<MessageId>("msg", now - rows.length + i)]))
})

type NewIds = ReadonlyMap<string, string>

/** The pairs of old and new ids as a relation. */
const idPairs = (sql: SqlClient.SqlClient, ids: NewIds) =>
  sql`unnest(${[...ids.keys()]}::text[], ${[...ids.values()]}::text[]) WITH ORDINALITY`

const copyAgents = (
  sql: SqlClient.SqlClient,
  from: SessionId,
  {
    created_at,
    created_by,
    id
  }: { readonly id: SessionId; readonly created_by: UserId; readonly created_at: Date },
  agents: NewIds
) => sql`
  INSERT INTO session_agents (id, session_id, agent_id, label, target_id, workspace, mode, model, isolation, budget, timeout_ms, place, added_by, added_at)
  SELECT copied.new_id, ${id}, a.agent_id, a.label, a.target_id, a.workspace, a.mode, a.model, a.isolation, a.budget,
    a.timeout_ms, a.place, ${created_by}, ${created_at}
  FROM ${idPairs(sql, agents)} AS copied (old_id, new_id, n)
  JOIN session_agents a ON a.session_id = ${from} AND a.id = copied.old_id`

const copyMessages = (
  sql: SqlClient.SqlClient,
  from: SessionId,
  to: SessionId,
  messages: NewIds,
  agents: NewIds
) => sql`
  INSERT INTO messages (id, session_id, user_id, agent_instance_id, text, run_id, recipient, mode, model, budget, timeout_ms, delivery, error, outcome,
    turn, outstanding, group_id, contributors, attachments, version, created_at, edited_at)
  SELECT copied.new_id, ${to}, m.user_id, COALESCE(author.new_id, m.agent_instance_id), m.text, m.run_id,
    COALESCE(recipient.new_id, m.recipient), m.mode, m.model, m.budget, m.timeout_ms, m.delivery, m.error, m.outcome, m.turn, m.outstanding, m.group_id, m.contributors,
    m.attachments, copied.n, m.created_at, m.edited_at
  FROM ${idPairs(sql, messages)} AS copied (old_id, new_id, n)
  JOIN messages m ON m.session_id = ${from} AND m.id = copied.old_id
  LEFT JOIN ${idPairs(sql, agents)} AS author (old_id, new_id, n) ON author.old_id = m.agent_instance_id
  LEFT JOIN ${idPairs(sql, agents)} AS recipient (old_id, new_id, n) ON recipient.old_id = m.recipient`
