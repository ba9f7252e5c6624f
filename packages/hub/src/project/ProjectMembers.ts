/**
 * Members of a project and their roles. Part of `Projects`.
 *
 * Guarantees: a project keeps an owner, and only owners grant or revoke ownership. A member who may no longer manage devices loses the
 * shares of their devices. Each change notifies every Hub.
 */
import { type Proof, roleRefusal } from "@corral/domain/access/Authorization"
import { Conflict, PermissionDenied } from "@corral/domain/errors/Failures"
import { UserId } from "@corral/domain/identity/Ids"
import { type ProjectMember, ProjectRole } from "@corral/domain/project/Project"
import { Effect, Schema } from "effect"
import type { SqlClient } from "effect/sql"
import { limitTo } from "../store/Limit.ts"
import { notify } from "../store/Notice.ts"
import { Timestamp, storedRows } from "../store/StoredRows.ts"
import { lockProject } from "./ProjectLock.ts"

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

export const projectMembers = (sql: SqlClient.SqlClient, now: () => Date) => ({
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

  addMember: Effect.fn("ProjectMembers.addMember")(function* (
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

  setRole: Effect.fn("ProjectMembers.setRole")(function* (
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

  removeMember: Effect.fn("ProjectMembers.removeMember")(function* (
    proof: Proof<"member.manage">,
    userId: UserId
  ) {
    const member = yield* findMember(sql, proof.subject, userId)
    if (member === undefined) return
    yield* requireAuthorityOver(sql, proof, member.role)
    yield* requireAnotherOwner(sql, proof.subject, userId)
    yield* sql`DELETE FROM project_members WHERE project_id = ${proof.subject} AND user_id = ${userId}`
    yield* endShares(sql, proof.subject, userId, undefined)
    yield* notify(sql, "membership", proof.subject)
  })
})
