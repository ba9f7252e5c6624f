/** Rights of the users behind a message to an agent: what starting a run needs, and writing in the session. */
import { roleRefusal } from "@corral/domain/access/Authorization"
import type {
  PermissionDenied,
  UnauthorizedTarget,
  WorkspaceOutsideAllowlist
} from "@corral/domain/errors/Failures"
import type { ProjectId, UserId } from "@corral/domain/identity/Ids"
import { Effect } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import { memberRoleRows } from "../authority/Membership.ts"
import type { Targets } from "../edges/Targets.ts"
import type { SessionAgentRow } from "../session/SessionAgentRow.ts"
import { findDispatchRefusal } from "../task/TaskAdmission.ts"

export type AuthorRefusal = PermissionDenied | UnauthorizedTarget | WorkspaceOutsideAllowlist

/** Why one of the users may not send a message to the agent; `undefined` where all may. */
export const findAuthorRefusal = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  targets: Targets["Service"],
  authors: ReadonlyArray<UserId>,
  projectId: ProjectId,
  { target_id: targetId, workspace }: Pick<SessionAgentRow, "target_id" | "workspace">
): Effect.fn.Return<AuthorRefusal | undefined, SqlError.SqlError> {
  for (const author of authors) {
    const member = yield* memberRoleRows.first(sql`
      SELECT role FROM project_members WHERE project_id = ${projectId} AND user_id = ${author}`)
    const refusal =
      roleRefusal("session.write", member?.role) ??
      (yield* findDispatchRefusal(sql, targets, { author, projectId, targetId, workspace }))
    if (refusal !== undefined) return refusal
  }
  return undefined
})
