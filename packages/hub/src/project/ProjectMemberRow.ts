/** Codec of the table `project_members`, with the name of the user. */
import { UserId } from "@corral/domain/identity/Ids"
import { type ProjectMember, ProjectRole } from "@corral/domain/project/Project"
import { Schema } from "effect"
import { storedRows, Timestamp } from "../store/StoredRows.ts"

const ProjectMemberRow = Schema.Struct({
  user_id: UserId,
  name: Schema.String,
  role: ProjectRole,
  added_at: Timestamp
})

export const projectMemberRows = storedRows("project_members", ProjectMemberRow)
export const memberIdRows = storedRows("project_members", Schema.Struct({ user_id: UserId }))

export const memberOf = ({ added_at, name, role, user_id }: typeof ProjectMemberRow.Type): ProjectMember => ({
  userId: user_id,
  name,
  role,
  addedAt: added_at.toISOString()
})
