/**
 * Projects and their members. A project always has an owner.
 *
 * Guarantees: only owners grant or revoke ownership. A member who may no longer manage devices loses the shares of their devices. Lists are ordered by last change, newest first, and show what the caller may read. A change of permissions notifies every
 * Hub. An operation on a project requires the proof that its caller is allowed to perform it.
 *
 * Does not: open transactions; callers run writes in one.
 */
import { type Proof, roleRefusal } from "@corral/domain/access/Authorization"
import { Conflict, PermissionDenied, SchemaValidationFailed } from "@corral/domain/errors/Failures"
import { DeviceId, type ProjectId, RunId, UserId } from "@corral/domain/identity/Ids"
import {
  type CreateProject,
  type Project,
  type ProjectMember,
  ProjectRole,
  type UpdateProject,
  defaultApprovals,
  defaultChats
} from "@corral/domain/project/Project"
import type { Check } from "@corral/domain/run/Check"
import type { Budget } from "@corral/domain/run/Budget"
import { mint } from "@corral/service/Identifiers"
import { Clock, Context, Effect, Layer, Schema } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { encodePosition, limitTo, type Position } from "../store/ListPage.ts"
import { notify } from "../store/Notices.ts"
import { endedRunStates } from "../store/StateLists.ts"
import { Timestamp, storedRows } from "../store/StoredRows.ts"
import { uncoveredFields } from "../usage/Reservations.ts"
import { lockProject, PROJECT_COLUMNS, projectOf, projectRows } from "./ProjectRow.ts"

export class Projects extends Context.Service<
  Projects,
  {
    /** The creator becomes the owner. */
    readonly create: (owner: UserId, project: CreateProject) => Effect.Effect<Project, SqlError.SqlError>
    readonly list: (
      reader: UserId,
      after: Position | undefined,
      limit: number
    ) => Effect.Effect<ReadonlyArray<Project>, SqlError.SqlError>
    readonly get: (
      proof: Proof<"project.read">
    ) => Effect.Effect<Project, PermissionDenied | SqlError.SqlError>
    readonly update: (
      proof: Proof<"project.update">,
      change: UpdateProject
    ) => Effect.Effect<Project, PermissionDenied | SchemaValidationFailed | SqlError.SqlError>
    /** Refused while runs are in progress. The readers of its audit trail keep their access afterwards. */
    readonly remove: (proof: Proof<"project.delete">) => Effect.Effect<void, Conflict | SqlError.SqlError>
    /** Members in the order of their user ids, after one. */
    readonly members: (
      proof: Proof<"project.read">,
      after: string | undefined,
      limit: number
    ) => Effect.Effect<ReadonlyArray<ProjectMember>, SqlError.SqlError>
    readonly addMember: (
      proof: Proof<"member.manage">,
      userId: UserId,
      role: ProjectRole
    ) => Effect.Effect<ProjectMember, Conflict | PermissionDenied | SqlError.SqlError>
    readonly setRole: (
      proof: Proof<"member.manage">,
      userId: UserId,
      role: ProjectRole
    ) => Effect.Effect<ProjectMember, Conflict | PermissionDenied | SqlError.SqlError>
    readonly removeMember: (
      proof: Proof<"member.manage">,
      userId: UserId
    ) => Effect.Effect<void, Conflict | PermissionDenied | SqlError.SqlError>
  }
>()("corral/hub/Projects") {
  static readonly layer = Layer.effect(
    Projects,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const clock = yield* Clock.Clock
      const now = () => new Date(clock.currentTimeMillisUnsafe())

      const notifyChanged = (id: string) => notify(sql, "membership", id)

      const get = Effect.fnUntraced(function* ({
        principal,
        subject
      }: Proof<"project.read" | "project.update">) {
        const row = yield* projectRows.first(sql`
          SELECT ${sql.literal(PROJECT_COLUMNS)}
          FROM projects p LEFT JOIN project_members m ON m.project_id = p.id AND m.user_id = ${principal}
          WHERE p.id = ${subject} AND (m.role IS NOT NULL OR p.visibility = 'internal')`)
        // Deleted since the proof was made.
        return row === undefined ? yield* new PermissionDenied() : projectOf(row)
      })

      return Projects.of({
        create: createOf(sql, now),

        list: listOf(sql),

        get,

        update: Effect.fn("Projects.update")(function* (
          proof,
          { approvals, chats, checks, description, name, runBudget, runs = {}, timeZone, visibility }
        ) {
          yield* sql`
            UPDATE projects SET
              name = COALESCE(${name ?? null}, name),
              description = COALESCE(${description ?? null}, description),
              visibility = COALESCE(${visibility ?? null}, visibility),
              approvers = COALESCE(${approvals?.approvers ?? null}, approvers),
              own_requests = COALESCE(${approvals?.ownRequests ?? null}, own_requests),
              chat_answers = COALESCE(${chats?.answers ?? null}, chat_answers),
              background_ms = ${changed(sql, "background_ms", "int", runs.backgroundMs)},
              input_ttl_ms = ${changed(sql, "input_ttl_ms", "int", runs.inputTtlMs)},
              isolation = ${changed(sql, "isolation", "text", runs.isolation)},
              checks = ${changed(sql, "checks", "text", checks && storedChecks(checks))},
              time_zone = COALESCE(${timeZone ?? null}, time_zone),
              run_budget = ${changed(sql, "run_budget", "text", runBudget === null ? null : runBudget && JSON.stringify(runBudget))},
              updated_at = GREATEST(updated_at, ${now()})
            WHERE id = ${proof.subject}`
          if (runBudget !== undefined) yield* requireCovered(sql, proof.subject, runBudget)
          yield* notifyChanged(proof.subject)
          return yield* get(proof)
        }),

        remove: Effect.fn("Projects.remove")(function* ({ subject }) {
          // Waits for runs that are being created; later ones find no project.
          yield* sql`SELECT 1 FROM projects WHERE id = ${subject} FOR UPDATE`
          const runs = yield* liveRuns(sql, subject, new Date(clock.currentTimeMillisUnsafe()))
          if (runs.length > 0)
            return yield* new Conflict({
              message: "Runs of this project are still in progress. Cancel them first.",
              details: { reason: "live_runs", runs }
            })
          yield* sql`
            INSERT INTO former_members (project_id, user_id, role)
            SELECT project_id, user_id, role FROM project_members WHERE project_id = ${subject} AND ${sql.in("role", auditors)}`
          yield* sql`DELETE FROM projects WHERE id = ${subject}`
          yield* notifyChanged(subject)
        }),

        ...projectMembers(sql, now)
      })
    })
  )
}

/** The value of a column after a change; `null` removes it. */
const changed = (
  sql: SqlClient.SqlClient,
  column: string,
  type: "int" | "text",
  value: number | string | null | undefined
) => (value === undefined ? sql.literal(column) : sql`${value}::${sql.literal(type)}`)

/** Without checks, the column is NULL. */
const storedChecks = (checks: ReadonlyArray<Check>): string | null =>
  checks.length === 0 ? null : JSON.stringify(checks)
/** The project is locked, so no limit is set meanwhile. */
const requireCovered = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  projectId: string,
  runBudget: Budget | null
) {
  const issues = (yield* uncoveredFields(sql, projectId, runBudget)).map((field) => ({
    path: `runBudget.${field}`,
    message: "A limit of the project needs it: a run without a budget reserves it. Remove the limit first."
  }))
  if (issues.length > 0) return yield* new SchemaValidationFailed({ details: { issues } })
})

const createOf = (sql: SqlClient.SqlClient, now: () => Date) =>
  Effect.fn("Projects.create")(function* (
    owner: UserId,
    { description, name, visibility = "private" }: CreateProject
  ) {
    const at = now()
    const id = mint<ProjectId>("prj", at.getTime())
    const row = {
      id,
      name,
      description: description ?? null,
      visibility,
      approvers: defaultApprovals.approvers,
      own_requests: defaultApprovals.ownRequests,
      chat_answers: defaultChats.answers,
      background_ms: null,
      input_ttl_ms: null,
      isolation: null,
      checks: null,
      time_zone: "UTC",
      run_budget: null,
      created_at: at,
      updated_at: at
    }
    yield* sql`INSERT INTO projects ${sql.insert(row)}`
    const membership = { project_id: id, user_id: owner, role: "owner", added_at: at }
    yield* sql`INSERT INTO project_members ${sql.insert(membership)}`
    return projectOf({ ...row, role: "owner" })
  })

/** Two scans, each in the order of an index: the reader's projects, and the other projects that everyone may read. */
const listOf = (sql: SqlClient.SqlClient) =>
  Effect.fnUntraced(function* (reader: UserId, after: Position | undefined, limit: number) {
    const columns = sql.literal(PROJECT_COLUMNS)
    const page = sql`
      ${after === undefined ? sql`` : sql`AND (p.updated_at, p.id) < (${new Date(after.at)}, ${after.id})`}
      ORDER BY p.updated_at DESC, p.id DESC ${limitTo(sql, limit)}`
    const rows = yield* projectRows.all(sql`
      SELECT p.* FROM (
        (SELECT ${columns} FROM projects p JOIN project_members m ON m.project_id = p.id
          WHERE m.user_id = ${reader} ${page})
        UNION ALL
        (SELECT ${columns} FROM projects p LEFT JOIN project_members m ON m.project_id = p.id AND m.user_id = ${reader}
          WHERE p.visibility = 'internal' AND m.role IS NULL ${page})
      ) p ORDER BY p.updated_at DESC, p.id DESC ${limitTo(sql, limit)}`)
    return rows.map(projectOf)
  })

const auditors = ProjectRole.literals.filter((role) => roleRefusal("audit.read", role) === undefined)

/** Position of a project in its list. */
export const projectPosition = ({ id, updatedAt }: Project): string => encodePosition(updatedAt, id)

/** Runs that a refusal lists. Those of devices that were removed, revoked, or offline for a day do not count: they would block the deletion forever. */
const MAX_LISTED = 20
const DAY_MS = 86_400_000

const liveRunRows = storedRows("runs", Schema.Struct({ id: RunId, target_id: DeviceId }))

const liveRuns = (sql: SqlClient.SqlClient, projectId: string, now: Date) =>
  Effect.map(
    liveRunRows.all(sql`
    SELECT r.id, r.target_id FROM runs r JOIN devices d ON d.id = r.target_id
    WHERE r.project_id = ${projectId} AND r.state NOT IN ${endedRunStates(sql)} AND d.revoked_at IS NULL
      AND GREATEST(d.last_seen_at, d.lease_until, d.created_at) > ${new Date(now.getTime() - DAY_MS)}
    ORDER BY r.id LIMIT ${MAX_LISTED}`),
    (rows) => rows.map(({ id, target_id: targetId }) => ({ id, targetId }))
  )

/**
 * Members of a project and their roles. Part of `Projects`.
 *
 * Guarantees: a project keeps an owner, and only owners grant or revoke ownership. A member who may no longer manage devices loses the
 * shares of their devices. Each change notifies every Hub.
 */
const ProjectMemberRow = Schema.Struct({
  user_id: UserId,
  name: Schema.String,
  role: ProjectRole,
  added_at: Timestamp
})

const projectMemberRows = storedRows("project_members", ProjectMemberRow)
const memberIdRows = storedRows("project_members", Schema.Struct({ user_id: UserId }))

const memberOf = ({ added_at, name, role, user_id }: typeof ProjectMemberRow.Type): ProjectMember => ({
  userId: user_id,
  name,
  role,
  addedAt: added_at.toISOString()
})

const findMember = (sql: SqlClient.SqlClient, projectId: string, userId: UserId) =>
  projectMemberRows.first(sql`
    SELECT m.user_id, u.name, m.role, m.added_at
    FROM project_members m JOIN users u ON u.id = m.user_id
    WHERE m.project_id = ${projectId} AND m.user_id = ${userId}`)

/** Ends the shares of a user's devices that the user may no longer manage in the project. */
const endShares = (
  sql: SqlClient.SqlClient,
  projectId: string,
  userId: UserId,
  role: ProjectRole | undefined
) =>
  roleRefusal("device.manage", role) === undefined
    ? Effect.void
    : sql`
        DELETE FROM device_projects s USING devices d
        WHERE s.project_id = ${projectId} AND d.id = s.device_id AND d.owner_id = ${userId}`

/** Locks the owners, so that two of them can't leave concurrently. */
const requireAnotherOwner = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  projectId: string,
  userId: UserId
) {
  const owners = yield* memberIdRows.all(sql`
    SELECT user_id FROM project_members WHERE project_id = ${projectId} AND role = 'owner' ORDER BY user_id FOR UPDATE`)
  if (owners.length === 1 && owners[0]?.user_id === userId)
    return yield* new Conflict({ message: "A project needs an owner. Make another member owner first." })
})

/** Only owners grant and revoke ownership. */
const requireAuthorityOver = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  proof: Proof<"member.manage">,
  ...roles: ReadonlyArray<ProjectRole>
) {
  if (!roles.includes("owner")) return
  const caller = yield* findMember(sql, proof.subject, proof.principal as UserId)
  if (caller?.role !== "owner") return yield* new PermissionDenied()
})

const projectMembers = (sql: SqlClient.SqlClient, now: () => Date) => ({
  members: Effect.fnUntraced(function* (
    { subject }: Proof<"project.read">,
    after: string | undefined,
    limit: number
  ) {
    const rows = yield* projectMemberRows.all(sql`
      SELECT m.user_id, u.name, m.role, m.added_at
      FROM project_members m JOIN users u ON u.id = m.user_id
      WHERE m.project_id = ${subject} ${after === undefined ? sql`` : sql`AND m.user_id > ${after} AND u.id > ${after}`}
      ORDER BY m.user_id ${limitTo(sql, limit)}`)
    return rows.map(memberOf)
  }),

  addMember: Effect.fn("Projects.addMember")(function* (
    proof: Proof<"member.manage">,
    userId: UserId,
    role: ProjectRole
  ) {
    yield* requireAuthorityOver(sql, proof, role)
    yield* lockProject(sql, proof.subject)
    const [user] = yield* sql`SELECT 1 FROM users WHERE id = ${userId}`
    if (user === undefined) return yield* new Conflict({ message: "No user with this id." })
    const row = { project_id: proof.subject, user_id: userId, role, added_at: now() }
    const added =
      yield* sql`INSERT INTO project_members ${sql.insert(row)} ON CONFLICT DO NOTHING RETURNING user_id`
    const member = yield* findMember(sql, proof.subject, userId)
    if (added.length === 0 || member === undefined)
      return yield* new Conflict({ message: "This user is already a project member." })
    yield* notify(sql, "membership", proof.subject)
    return memberOf(member)
  }),

  setRole: Effect.fn("Projects.setRole")(function* (
    proof: Proof<"member.manage">,
    userId: UserId,
    role: ProjectRole
  ) {
    const member = yield* findMember(sql, proof.subject, userId)
    if (member === undefined) return yield* new Conflict({ message: "This user is not a project member." })
    yield* requireAuthorityOver(sql, proof, role, member.role)
    if (role !== "owner") yield* requireAnotherOwner(sql, proof.subject, userId)
    yield* sql`UPDATE project_members SET role = ${role} WHERE project_id = ${proof.subject} AND user_id = ${userId}`
    yield* endShares(sql, proof.subject, userId, role)
    yield* notify(sql, "membership", proof.subject)
    return memberOf({ ...member, role })
  }),

  removeMember: Effect.fn("Projects.removeMember")(function* (proof: Proof<"member.manage">, userId: UserId) {
    const member = yield* findMember(sql, proof.subject, userId)
    if (member === undefined) return
    yield* requireAuthorityOver(sql, proof, member.role)
    yield* requireAnotherOwner(sql, proof.subject, userId)
    yield* sql`DELETE FROM project_members WHERE project_id = ${proof.subject} AND user_id = ${userId}`
    yield* endShares(sql, proof.subject, userId, undefined)
    yield* notify(sql, "membership", proof.subject)
  })
})
