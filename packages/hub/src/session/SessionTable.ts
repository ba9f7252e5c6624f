/**
 * The table `sessions`: its codec, the lock on an active session, its runs, its unread messages, and its project for
 * services that run before `Sessions`. Also the limits of a turn as columns: of a message, and of an agent as defaults.
 */
import { Budget, type RunLimits } from "@corral/domain/run/Budget"
import { Schema, Effect, Struct, Context, Layer } from "effect"
import { AgentInstanceId, ProjectId, RunId, SessionId, UserId } from "@corral/domain/identity/Ids"
import { MAX_UNREAD, type Session, type SessionItem, SessionState } from "@corral/domain/session/Session"
import { mint } from "@corral/service/Identifiers"
import type { Proof } from "@corral/domain/access/Authorization"
import { Conflict, PermissionDenied } from "@corral/domain/errors/Failures"
import { SqlClient, type SqlError, type Statement } from "effect/sql"
import { jsonColumn, Timestamp, storedRows } from "../store/StoredRows.ts"
import { lockProject } from "../project/ProjectRow.ts"
import { endedRunStates } from "../store/StateLists.ts"
import { limitTo } from "../store/ListPage.ts"

export const limitColumns = {
  budget: Schema.NullOr(jsonColumn(Budget)),
  timeout_ms: Schema.NullOr(Schema.Int)
}
const LimitColumns = Schema.Struct(limitColumns)
type LimitColumns = typeof LimitColumns.Type

/** The limits of a row, without absent ones. */
export const limitsIn = ({
  budget,
  timeout_ms
}: LimitColumns): { readonly budget?: Budget; readonly timeoutMs?: number } => ({
  ...(budget === null ? {} : { budget }),
  ...(timeout_ms === null ? {} : { timeoutMs: timeout_ms })
})

export const limitColumnsOf = ({ budget, timeoutMs }: RunLimits): LimitColumns => ({
  budget: budget ?? null,
  timeout_ms: timeoutMs ?? null
})

/** A budget as text of its column. */
export const storedBudget = (budget: Budget | null): string | null =>
  budget === null ? null : JSON.stringify(budget)

// Unread messages of a session, as part of the statement that reads the session: a list of sessions pays no second one.

/** Number of messages of others after the reader's position, of the latest `MAX_UNREAD` messages after it. `id` is the session's column. */
export const unreadMessages = (
  sql: SqlClient.SqlClient,
  reader: UserId,
  id: string
): Statement.Fragment => sql`(
  SELECT count(*)::int FROM (
    SELECT user_id FROM messages
    WHERE session_id = ${sql.literal(id)} AND created_at > COALESCE(
      (SELECT read_at FROM session_reads WHERE session_id = ${sql.literal(id)} AND user_id = ${reader}), '-infinity'
    )
    ORDER BY created_at DESC, id DESC ${limitTo(sql, MAX_UNREAD)}
  ) AS later WHERE user_id IS DISTINCT FROM ${reader}
)`

/** Change sets of a session in which a person can decide. `id` is the session's column. */
export const openChangeSets = (sql: SqlClient.SqlClient, id: string): Statement.Fragment =>
  sql`(SELECT count(*)::int FROM change_sets WHERE session_id = ${sql.literal(id)} AND waits)`

// Runs of a session.

const activeRunRows = storedRows("runs", Schema.Struct({ id: RunId }))

/** Runs in progress. */
export const activeRunsOf = (
  sql: SqlClient.SqlClient,
  sessionId: SessionId
): Effect.Effect<ReadonlyArray<RunId>, SqlError.SqlError> =>
  Effect.map(
    activeRunRows.all(sql`
      SELECT id FROM runs WHERE session_id = ${sessionId} AND state NOT IN ${endedRunStates(sql)} ORDER BY id`),
    (rows) => rows.map(({ id }) => id)
  )

/** Whether a run belongs to the session. */
export const isRunOf = (
  sql: SqlClient.SqlClient,
  sessionId: SessionId,
  runId: RunId
): Effect.Effect<boolean, SqlError.SqlError> =>
  Effect.map(
    sql`SELECT 1 FROM runs WHERE id = ${runId} AND session_id = ${sessionId}`,
    (rows) => rows.length > 0
  )

// Lock on an active session, taken before each addition to it.

export const readOnlyConflict = (state: SessionState) =>
  new Conflict({ message: `The session is ${state} and can't be changed.` })

/** Locks the session until the transaction ends, and makes it the latest of its list. `undefined` after the project was deleted. */
export const touchSession = (
  sql: SqlClient.SqlClient,
  projectId: string,
  id: SessionId,
  now: Date
): Effect.Effect<
  { readonly state: SessionState; readonly updated_at: Date } | undefined,
  SqlError.SqlError
> =>
  sessionChangeRows.first(sql`
    UPDATE sessions SET updated_at = GREATEST(updated_at + interval '1 millisecond', ${now})
    WHERE id = ${id} AND project_id = ${projectId} RETURNING state, updated_at`)

/**
 * Locks the session until the transaction ends, and makes it the latest of its list. Returns the time of the addition, later than every
 * earlier one, so ids from it are in the order of the additions.
 */
export const lockActiveSession = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  proof: Proof<"session.write">,
  id: SessionId,
  now: Date
): Effect.fn.Return<Date, Conflict | PermissionDenied | SqlError.SqlError> {
  yield* lockProject(sql, proof.subject)
  const row = yield* touchSession(sql, proof.subject, id, now)
  // The project was deleted since the proof was made.
  if (row === undefined) return yield* new PermissionDenied()
  return row.state === "active" ? row.updated_at : yield* readOnlyConflict(row.state)
})

const SessionRow = Schema.Struct({
  id: SessionId,
  project_id: ProjectId,
  title: Schema.String,
  state: SessionState,
  updated_at: Timestamp,
  created_by: UserId,
  created_at: Timestamp,
  default_agent: Schema.NullOr(AgentInstanceId)
})
export type SessionRow = typeof SessionRow.Type

/** Title of a session until its first message. */
const UNTITLED = "New session"

export interface NewSession {
  readonly projectId: ProjectId
  readonly createdBy: UserId
  readonly title?: string | undefined
}

const newSessionRow = (id: SessionId, { createdBy, projectId, title }: NewSession, at: Date) => ({
  id,
  project_id: projectId,
  title: title ?? UNTITLED,
  state: "active" as const,
  created_by: createdBy,
  created_at: at,
  updated_at: at,
  default_agent: null
})

/** Inserts the session under an id that its creator has chosen. `false`: there is one with this id. Call it with the project locked. */
export const insertChosenSession = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  id: SessionId,
  session: NewSession,
  at: Date
) {
  const row = { ...newSessionRow(id, session, at), titled: session.title !== undefined }
  const inserted = yield* sql`
    INSERT INTO sessions ${sql.insert(row)} ON CONFLICT (id) DO NOTHING RETURNING id`
  return inserted.length > 0
})

/** Call it with the project locked. */
export const insertSession = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  session: NewSession,
  at: Date
) {
  const row: SessionRow = newSessionRow(mint<SessionId>("ses", at.getTime()), session, at)
  yield* sql`INSERT INTO sessions ${sql.insert({ ...row, titled: session.title !== undefined })}`
  return row
})

const SessionItemRow = SessionRow.mapFields(Struct.omit(["created_by", "created_at", "default_agent"]))
const counts = { unread: Schema.Int, open_changes: Schema.Int }

export const SESSION_COLUMNS = Object.keys(SessionRow.fields).join(", ")
export const SESSION_ITEM_COLUMNS = Object.keys(SessionItemRow.fields).join(", ")

export const sessionRows = storedRows("sessions", Schema.Struct({ ...SessionRow.fields, ...counts }))
export const sessionItemRows = storedRows("sessions", Schema.Struct({ ...SessionItemRow.fields, ...counts }))
export const sessionStateRows = storedRows("sessions", SessionRow.mapFields(Struct.pick(["state"])))
export const sessionChangeRows = storedRows(
  "sessions",
  SessionRow.mapFields(Struct.pick(["state", "updated_at"]))
)

interface SessionCounts {
  readonly unread?: number
  readonly open_changes?: number
}

export const sessionItemOf = ({
  id,
  open_changes: openChanges = 0,
  project_id,
  state,
  title,
  unread,
  updated_at
}: typeof SessionItemRow.Type & SessionCounts): SessionItem => ({
  id,
  projectId: project_id,
  title,
  state,
  updatedAt: updated_at.toISOString(),
  ...(unread === undefined ? {} : { unread }),
  ...(openChanges === 0 ? {} : { openChanges })
})

export const sessionOf = (
  row: SessionRow & SessionCounts,
  agents: Session["agents"],
  activeRuns: Session["activeRuns"]
): Session => ({
  ...sessionItemOf(row),
  createdBy: row.created_by,
  createdAt: row.created_at.toISOString(),
  agents,
  ...(row.default_agent === null ? {} : { defaultAgentInstanceId: row.default_agent }),
  activeRuns
})

const sessionProjectRows = storedRows("sessions", Schema.Struct({ project_id: ProjectId }))

export class SessionProject extends Context.Service<
  SessionProject,
  { readonly find: (id: SessionId) => Effect.Effect<ProjectId | undefined, SqlError.SqlError> }
>()("corral/hub/SessionProject") {
  static readonly layer = Layer.effect(
    SessionProject,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      return SessionProject.of({
        find: Effect.fnUntraced(function* (id) {
          const row = yield* sessionProjectRows.first(sql`SELECT project_id FROM sessions WHERE id = ${id}`)
          return row?.project_id
        })
      })
    })
  )
}
