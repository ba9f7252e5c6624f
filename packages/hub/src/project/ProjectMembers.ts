/**
 * Members of a project and their roles. Part of `Projects`.
 *
 * Guarantees: a project keeps an owner, and only owners grant or revoke ownership. A member who may no longer manage devices loses the
 * shares of their devices. Each change notifies every Hub.
 */
import { type Proof, roleRefusal } from "@corral/domain/access/Authorization"
import { Conflict, PermissionDenied } from "@corral/domain/errors/Failures"
import type { UserId } from "@corral/domain/identity/Ids"
import type { ProjectMember, ProjectRole } from "@corral/domain/project/Project"
import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import { limitTo } from "../store/Limit.ts"
import { notify } from "../store/Notice.ts"
import { holdProject } from "./HeldProject.ts"

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

const findMember = (sql: SqlClient.SqlClient, projectId: string, userId: UserId) =>
  Effect.map(
    sql<MemberRow>`
      SELECT m.user_id, u.name, m.role, m.added_at
      FROM project_members m JOIN users u ON u.id = m.user_id
      WHERE m.project_id = ${projectId} AND m.user_id = ${userId}`,
    ([row]) => row
  )

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
  leaving: UserId
) {
  const owners = yield* sql<{ readonly user_id: string }>`
    SELECT user_id FROM project_members WHERE project_id = ${projectId} AND role = 'owner' ORDER BY user_id FOR UPDATE`
  if (owners.length === 1 && owners[0]?.user_id === leaving)
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
  members: ({ subject }: Proof<"project.read">, after: string | undefined, limit: number) =>
    sql<MemberRow>`
      SELECT m.user_id, u.name, m.role, m.added_at
      FROM project_members m JOIN users u ON u.id = m.user_id
      WHERE m.project_id = ${subject} ${after === undefined ? sql`` : sql`AND m.user_id > ${after} AND u.id > ${after}`}
      ORDER BY m.user_id ${limitTo(sql, limit)}`.pipe(Effect.map((rows) => rows.map(memberOf))),

  addMember: Effect.fnUntraced(function* (proof: Proof<"member.manage">, userId: UserId, role: ProjectRole) {
    yield* requireAuthorityOver(sql, proof, role)
    yield* holdProject(sql, proof.subject)
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

  setRole: Effect.fnUntraced(function* (proof: Proof<"member.manage">, userId: UserId, role: ProjectRole) {
    const member = yield* findMember(sql, proof.subject, userId)
    if (member === undefined) return yield* new Conflict({ message: "This user is not a project member." })
    yield* requireAuthorityOver(sql, proof, role, member.role)
    if (role !== "owner") yield* requireAnotherOwner(sql, proof.subject, userId)
    yield* sql`UPDATE project_members SET role = ${role} WHERE project_id = ${proof.subject} AND user_id = ${userId}`
    yield* endShares(sql, proof.subject, userId, role)
    yield* notify(sql, "membership", proof.subject)
    return memberOf({ ...member, role })
  }),

  removeMember: Effect.fnUntraced(function* (proof: Proof<"member.manage">, userId: UserId) {
    const member = yield* findMember(sql, proof.subject, userId)
    if (member === undefined) return
    yield* requireAuthorityOver(sql, proof, member.role)
    yield* requireAnotherOwner(sql, proof.subject, userId)
    yield* sql`DELETE FROM project_members WHERE project_id = ${proof.subject} AND user_id = ${userId}`
    yield* endShares(sql, proof.subject, userId, undefined)
    yield* notify(sql, "membership", proof.subject)
  })
})
