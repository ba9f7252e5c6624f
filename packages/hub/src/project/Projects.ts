/**
 * Projects and their members. A project always has an owner.
 *
 * What acts on a project takes a proof that its caller may. Lists go by last change, newest first, and show what the caller may read.
 * Whatever changes who may do what is told to every Hub. Writes are to run in a transaction.
 */
import { type Proof, roleRefusal } from "@corral/domain/access/Authorization"
import { Conflict, PermissionDenied } from "@corral/domain/errors/Failures"
import type { ProjectId, UserId } from "@corral/domain/identity/Ids"
import {
  type Approvers,
  type CreateProject,
  defaultApprovals,
  type Project,
  type ProjectMember,
  ProjectRole,
  type ProjectVisibility,
  type UpdateProject
} from "@corral/domain/project/Project"
import { mint } from "@corral/service/Identifiers"
import { Clock, Context, Effect, Layer } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { limitTo } from "../store/Limit.ts"
import { notify } from "../store/Notice.ts"
import { type Position, encodePosition } from "../store/Position.ts"
import { holdProject } from "./HeldProject.ts"
import { liveRuns } from "./LiveRuns.ts"

export class Projects extends Context.Service<
  Projects,
  {
    /** Whoever makes one owns it. */
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
    ) => Effect.Effect<Project, PermissionDenied | SqlError.SqlError>
    /** Refused while runs are in progress. The readers of its audit trail keep their access afterwards. */
    readonly remove: (proof: Proof<"project.delete">) => Effect.Effect<void, Conflict | SqlError.SqlError>
    /** By person, after that one. */
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

      const columns = sql.literal(
        "p.id, p.name, p.description, p.visibility, p.approvers, p.own_requests, p.created_at, p.updated_at, m.role"
      )
      const changed = (id: string) => notify(sql, "membership", id)

      const get = Effect.fnUntraced(function* ({
        principal,
        subject
      }: Proof<"project.read" | "project.update">) {
        const [row] = yield* sql<ProjectRow>`
          SELECT ${columns}
          FROM projects p LEFT JOIN project_members m ON m.project_id = p.id AND m.user_id = ${principal}
          WHERE p.id = ${subject} AND (m.role IS NOT NULL OR p.visibility = 'internal')`
        // Removed since the proof was made.
        return row === undefined ? yield* new PermissionDenied() : projectOf(row)
      })

      const member = Effect.fnUntraced(function* (projectId: string, userId: UserId) {
        const [row] = yield* sql<MemberRow>`
          SELECT m.user_id, u.name, m.role, m.added_at
          FROM project_members m JOIN users u ON u.id = m.user_id
          WHERE m.project_id = ${projectId} AND m.user_id = ${userId}`
        return row
      })

      /** Ends the shares of a user's devices that the user may no longer manage there. */
      const endShares = (projectId: string, userId: UserId, role: ProjectRole | undefined) =>
        roleRefusal("device.manage", role) === undefined
          ? Effect.void
          : sql`
              DELETE FROM device_projects s USING devices d
              WHERE s.project_id = ${projectId} AND d.id = s.device_id AND d.owner_id = ${userId}`

      /** Locks the owners, so that two of them do not leave at once. */
      const keepAnOwner = Effect.fnUntraced(function* (projectId: string, leaving: UserId) {
        const owners = yield* sql<{ readonly user_id: string }>`
          SELECT user_id FROM project_members WHERE project_id = ${projectId} AND role = 'owner' ORDER BY user_id FOR UPDATE`
        if (owners.length === 1 && owners[0]?.user_id === leaving)
          return yield* new Conflict({ message: "The project would be left without an owner." })
      })

      /** Nobody gives or takes a role above their own. */
      const within = Effect.fnUntraced(function* (
        proof: Proof<"member.manage">,
        ...roles: ReadonlyArray<ProjectRole>
      ) {
        if (!roles.includes("owner")) return
        const own = yield* member(proof.subject, proof.principal as UserId)
        if (own?.role !== "owner") return yield* new PermissionDenied()
      })

      return Projects.of({
        create: Effect.fnUntraced(function* (owner, { description, name, visibility = "private" }) {
          const at = now()
          const id = mint<ProjectId>("prj", at.getTime())
          const row = {
            id,
            name,
            description: description ?? null,
            visibility,
            approvers: defaultApprovals.approvers,
            own_requests: defaultApprovals.ownRequests,
            created_at: at,
            updated_at: at
          }
          yield* sql`INSERT INTO projects ${sql.insert(row)}`
          const membership = { project_id: id, user_id: owner, role: "owner", added_at: at }
          yield* sql`INSERT INTO project_members ${sql.insert(membership)}`
          return projectOf({ ...row, role: "owner" })
        }),

        list: (reader, after, limit) => {
          const page = sql`
            ${after === undefined ? sql`` : sql`AND (p.updated_at, p.id) < (${new Date(after.at)}, ${after.id})`}
            ORDER BY p.updated_at DESC, p.id DESC ${limitTo(sql, limit)}`
          // Two walks, each in the order of an index: of what everyone may read, and of what is the reader's.
          return sql<ProjectRow>`
            SELECT p.* FROM (
              (SELECT ${columns} FROM projects p JOIN project_members m ON m.project_id = p.id
                WHERE m.user_id = ${reader} ${page})
              UNION ALL
              (SELECT ${columns} FROM projects p LEFT JOIN project_members m ON m.project_id = p.id AND m.user_id = ${reader}
                WHERE p.visibility = 'internal' AND m.role IS NULL ${page})
            ) p ORDER BY p.updated_at DESC, p.id DESC ${limitTo(sql, limit)}`.pipe(
            Effect.map((rows) => rows.map(projectOf))
          )
        },

        get,

        update: Effect.fnUntraced(function* (proof, { approvals, description, name, visibility }) {
          yield* sql`
            UPDATE projects SET
              name = COALESCE(${name ?? null}, name),
              description = COALESCE(${description ?? null}, description),
              visibility = COALESCE(${visibility ?? null}, visibility),
              approvers = COALESCE(${approvals?.approvers ?? null}, approvers),
              own_requests = COALESCE(${approvals?.ownRequests ?? null}, own_requests),
              updated_at = GREATEST(updated_at, ${now()})
            WHERE id = ${proof.subject}`
          yield* changed(proof.subject)
          return yield* get(proof)
        }),

        remove: Effect.fnUntraced(function* ({ subject }) {
          // Waits for runs that are being opened; those that come later find no project.
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
          yield* changed(subject)
        }),

        members: ({ subject }, after, limit) =>
          sql<MemberRow>`
            SELECT m.user_id, u.name, m.role, m.added_at
            FROM project_members m JOIN users u ON u.id = m.user_id
            WHERE m.project_id = ${subject} ${after === undefined ? sql`` : sql`AND m.user_id > ${after} AND u.id > ${after}`}
            ORDER BY m.user_id ${limitTo(sql, limit)}`.pipe(Effect.map((rows) => rows.map(memberOf))),

        addMember: Effect.fnUntraced(function* (proof, userId, role) {
          yield* within(proof, role)
          yield* holdProject(sql, proof.subject)
          const [known] = yield* sql`SELECT 1 FROM users WHERE id = ${userId}`
          if (known === undefined) return yield* new Conflict({ message: "Nobody has that id." })
          const row = { project_id: proof.subject, user_id: userId, role, added_at: now() }
          const added =
            yield* sql`INSERT INTO project_members ${sql.insert(row)} ON CONFLICT DO NOTHING RETURNING user_id`
          const made = yield* member(proof.subject, userId)
          if (added.length === 0 || made === undefined)
            return yield* new Conflict({ message: "That person is a member already." })
          yield* changed(proof.subject)
          return memberOf(made)
        }),

        setRole: Effect.fnUntraced(function* (proof, userId, role) {
          const held = yield* member(proof.subject, userId)
          if (held === undefined) return yield* new Conflict({ message: "That person is no member." })
          yield* within(proof, role, held.role)
          if (role !== "owner") yield* keepAnOwner(proof.subject, userId)
          yield* sql`UPDATE project_members SET role = ${role} WHERE project_id = ${proof.subject} AND user_id = ${userId}`
          yield* endShares(proof.subject, userId, role)
          yield* changed(proof.subject)
          return memberOf({ ...held, role })
        }),

        removeMember: Effect.fnUntraced(function* (proof, userId) {
          const held = yield* member(proof.subject, userId)
          if (held === undefined) return
          yield* within(proof, held.role)
          yield* keepAnOwner(proof.subject, userId)
          yield* sql`DELETE FROM project_members WHERE project_id = ${proof.subject} AND user_id = ${userId}`
          yield* endShares(proof.subject, userId, undefined)
          yield* changed(proof.subject)
        })
      })
    })
  )
}

const auditors = ProjectRole.literals.filter((role) => roleRefusal("audit.read", role) === undefined)

interface ProjectRow {
  readonly id: ProjectId
  readonly name: string
  readonly description: string | null
  readonly visibility: ProjectVisibility
  readonly approvers: Approvers
  readonly own_requests: boolean
  readonly created_at: Date
  readonly updated_at: Date
  readonly role: ProjectRole | null
}

const projectOf = ({
  approvers,
  created_at,
  description,
  id,
  name,
  own_requests,
  role,
  updated_at,
  visibility
}: ProjectRow): Project => ({
  id,
  name,
  ...(description === null ? {} : { description }),
  visibility,
  approvals: { approvers, ownRequests: own_requests },
  // Who is no member reads what is internal, and no more.
  role: role ?? "viewer",
  createdAt: created_at.toISOString(),
  updatedAt: updated_at.toISOString()
})

interface MemberRow {
  readonly user_id: UserId
  readonly name: string
  readonly role: ProjectRole
  readonly added_at: Date
}

const memberOf = ({ added_at, name, role, user_id }: MemberRow): ProjectMember => ({
  userId: user_id,
  name,
  role,
  addedAt: added_at.toISOString()
})

/** Where a project stands in its list. */
export const projectPosition = ({ id, updatedAt }: Project): string => encodePosition(updatedAt, id)
