/**
 * Sessions: conversations of people and agents in a project. Lists are ordered by last change, newest first. Messages and changes of agents
 * count as changes.
 *
 * An archived session can be opened again, a closed one stays closed; both are read-only, and their undelivered messages are withdrawn. Deleting a project deletes its sessions.
 */
import type { Proof } from "@corral/domain/access/Authorization"
import { Conflict, PermissionDenied } from "@corral/domain/errors/Failures"
import type { ProjectId, SessionId, UserId } from "@corral/domain/identity/Ids"
import type {
  CreateSession,
  Session,
  SessionItem,
  SessionState,
  UpdateSession
} from "@corral/domain/session/Session"
import { Clock, Context, Effect, Layer } from "effect"
import { SqlClient, type SqlError, type Statement } from "effect/sql"
import { lockProject } from "../project/ProjectRow.ts"
import { PlannedSql } from "../store/Database.ts"
import { encodePosition, limitTo, type Position } from "../store/ListPage.ts"
import { notify } from "../store/Notices.ts"
import { cancelWaitingMessages, withdrawUndelivered } from "./MessageStore.ts"
import { agentsOf, isOpenAgentOf } from "./SessionAgentStore.ts"
import {
  SESSION_COLUMNS,
  SESSION_ITEM_COLUMNS,
  activeRunsOf,
  insertChosenSession,
  insertSession,
  openChangeSets,
  readOnlyConflict,
  sessionItemOf,
  sessionItemRows,
  sessionOf,
  sessionRows,
  sessionStateRows,
  unreadMessages
} from "./SessionTable.ts"

/** Sessions of one project, or of all projects that a user may read. */
export type SessionScope = Proof<"project.read"> | { readonly reader: UserId }

export class Sessions extends Context.Service<
  Sessions,
  {
    readonly list: (
      scope: SessionScope,
      state: SessionState | undefined,
      after: Position | undefined,
      limit: number
    ) => Effect.Effect<ReadonlyArray<SessionItem>, SqlError.SqlError>
    readonly create: (
      proof: Proof<"session.write">,
      session: Omit<CreateSession, "projectId">
    ) => Effect.Effect<Session, PermissionDenied | SqlError.SqlError>
    /** Creates the session under an id that its creator has chosen, unless the creator has done so before. */
    readonly begin: (
      proof: Proof<"session.write">,
      id: SessionId
    ) => Effect.Effect<void, PermissionDenied | SqlError.SqlError>
    readonly get: (
      proof: Proof<"project.read" | "session.write">,
      id: SessionId
    ) => Effect.Effect<Session, PermissionDenied | SqlError.SqlError>
    readonly update: (
      proof: Proof<"session.write">,
      id: SessionId,
      change: UpdateSession
    ) => Effect.Effect<Session, Conflict | PermissionDenied | SqlError.SqlError>
  }
>()("corral/hub/Sessions") {
  static readonly layer = Layer.effect(
    Sessions,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const planned = yield* PlannedSql
      const clock = yield* Clock.Clock
      const now = () => new Date(clock.currentTimeMillisUnsafe())

      const get = Effect.fnUntraced(function* (
        { principal, subject }: Proof<"project.read" | "session.write">,
        id: SessionId
      ) {
        const unread = unreadMessages(sql, principal as UserId, "sessions.id")
        const row = yield* sessionRows.first(sql`
          SELECT ${sql.literal(SESSION_COLUMNS)}, ${unread} AS unread, ${openChangeSets(sql, "sessions.id")} AS open_changes
          FROM sessions WHERE id = ${id} AND project_id = ${subject}`)
        // Deleted since the proof was made.
        if (row === undefined) return yield* new PermissionDenied()
        return sessionOf(row, yield* agentsOf(sql, id), yield* activeRunsOf(sql, id))
      })

      return Sessions.of({
        get,

        list: Effect.fnUntraced(function* (scope, state, after, limit) {
          const page = { state, after, limit }
          const rows = yield* sessionItemRows.all(
            "subject" in scope ? pageOfProject(planned, scope, page) : pageOfReader(sql, scope.reader, page)
          )
          return rows.map(sessionItemOf)
        }),

        create: Effect.fn("Sessions.create")(function* ({ principal, subject }, { title }) {
          yield* lockProject(sql, subject)
          // The subject of a session's proof is its project.
          const place = { projectId: subject as ProjectId, createdBy: principal as UserId }
          return sessionOf(yield* insertSession(sql, { ...place, title }, now()), [], [])
        }, sql.withTransaction),

        begin: Effect.fn("Sessions.begin")(function* ({ principal, subject }, id) {
          yield* lockProject(sql, subject)
          const place = { projectId: subject as ProjectId, createdBy: principal as UserId }
          if (yield* insertChosenSession(sql, id, place, now())) return
          const [created] = yield* sql`
            SELECT 1 FROM sessions WHERE id = ${id} AND project_id = ${subject} AND created_by = ${principal}`
          // Of another user, or in another project: as one that is missing.
          if (created === undefined) return yield* new PermissionDenied()
        }, sql.withTransaction),

        update: Effect.fn("Sessions.update")(function* (proof, id, change) {
          const { defaultAgentInstanceId: agent, state, title } = change
          const isLeaving = state === "archived" || state === "closed"
          yield* lockProject(sql, proof.subject)
          // Before the lock on the session, as every transaction does.
          if (isLeaving) yield* cancelWaitingMessages(sql, proof.subject, id, now())
          const current = yield* sessionStateRows.first(
            sql`SELECT state FROM sessions WHERE id = ${id} AND project_id = ${proof.subject} FOR UPDATE`
          )
          if (current === undefined) return yield* new PermissionDenied()
          const next = state ?? current.state
          if (current.state === "closed" && next !== "closed")
            return yield* new Conflict({ message: "A closed session can't be reopened." })
          // One update may reopen and rename a session, or rename and archive it.
          const isEdit = title !== undefined || agent !== undefined
          if (isEdit && current.state !== "active" && next !== "active")
            return yield* readOnlyConflict(current.state)
          if (agent !== undefined && !(yield* isOpenAgentOf(sql, id, agent)))
            return yield* new Conflict({ message: "The session has no such agent, or it is closed." })
          if (isLeaving) yield* withdrawUndelivered(sql, id)
          if (isEdit || next !== current.state) {
            yield* sql`
              UPDATE sessions SET title = COALESCE(${title ?? null}, title), titled = titled OR ${title !== undefined},
                default_agent = COALESCE(${agent ?? null}, default_agent), state = ${next},
                updated_at = GREATEST(updated_at + interval '1 millisecond', ${now()})
              WHERE id = ${id}`
            yield* notify(sql, "session", id)
          }
          return yield* get(proof, id)
        }, sql.withTransaction)
      })
    })
  )
}

interface SessionPage {
  readonly state: SessionState | undefined
  readonly after: Position | undefined
  readonly limit: number
}

/** The page of each project, in the order of its index. `rowLimit`: the same page as `LIMIT`. */
const ordered = (
  sql: SqlClient.SqlClient,
  { after, state }: SessionPage,
  rowLimit: Statement.Fragment
): Statement.Fragment => sql`
  ${state === undefined ? sql`` : sql`AND state = ${state}`}
  ${after === undefined ? sql`` : sql`AND (updated_at, id) < (${new Date(after.at)}, ${after.id})`}
  ORDER BY updated_at DESC, id DESC ${rowLimit}`

/** Sessions with what their reader has not read and can decide. */
const counted = (
  sql: SqlClient.SqlClient,
  reader: UserId,
  sessions: Statement.Fragment
): Statement.Statement<object> => sql`
  SELECT page.*, ${unreadMessages(sql, reader, "page.id")} AS unread, ${openChangeSets(sql, "page.id")} AS open_changes
  FROM (${sessions}) AS page ORDER BY page.updated_at DESC, page.id DESC`

/**
 * A page of one project. Its limit is a value, so that pages of each length have one plan.
 *
 * @internal
 */
export const pageOfProject = (
  sql: SqlClient.SqlClient,
  { principal, subject }: Pick<Proof<"project.read">, "principal" | "subject">,
  page: SessionPage
): Statement.Statement<object> =>
  counted(
    sql,
    principal as UserId,
    sql`
      SELECT ${sql.literal(SESSION_ITEM_COLUMNS)} FROM sessions
      WHERE project_id = ${subject} ${ordered(sql, page, sql`LIMIT ${page.limit}`)}`
  )

/** A page of all projects that a user may read. */
const pageOfReader = (
  sql: SqlClient.SqlClient,
  reader: UserId,
  page: SessionPage
): Statement.Statement<object> => {
  const rowLimit = limitTo(sql, page.limit)
  return counted(
    sql,
    reader,
    sql`
      SELECT s.* FROM (
        SELECT project_id FROM project_members WHERE user_id = ${reader}
        UNION
        SELECT id FROM projects WHERE visibility = 'internal'
      ) readable
      CROSS JOIN LATERAL (
        SELECT ${sql.literal(SESSION_ITEM_COLUMNS)} FROM sessions
        WHERE project_id = readable.project_id ${ordered(sql, page, rowLimit)}
      ) s ORDER BY s.updated_at DESC, s.id DESC ${rowLimit}`
  )
}

/** Position of a session in its list. */
export const sessionPosition = ({ id, updatedAt }: SessionItem): string => encodePosition(updatedAt, id)
