/** Codec of the table `projects`, with the role of the reader. */
import { ProjectId } from "@corral/domain/identity/Ids"
import {
  Approvers,
  ChatAnswers,
  type Project,
  ProjectRole,
  ProjectVisibility,
  type RunDefaults
} from "@corral/domain/project/Project"
import { Schema } from "effect"
import { storedRows, Timestamp } from "../store/StoredRows.ts"

/** Limits of runs that do not have others. */
const runDefaultColumns = {
  background_ms: Schema.NullOr(Schema.Int),
  input_ttl_ms: Schema.NullOr(Schema.Int)
}
const RunDefaultsRow = Schema.Struct(runDefaultColumns)

export const runDefaultsRows = storedRows("projects", RunDefaultsRow)

export const runDefaultsOf = ({ background_ms, input_ttl_ms }: typeof RunDefaultsRow.Type): RunDefaults => ({
  ...(background_ms === null ? {} : { backgroundMs: background_ms }),
  ...(input_ttl_ms === null ? {} : { inputTtlMs: input_ttl_ms })
})

const ProjectRow = Schema.Struct({
  id: ProjectId,
  name: Schema.String,
  description: Schema.NullOr(Schema.String),
  visibility: ProjectVisibility,
  approvers: Approvers,
  own_requests: Schema.Boolean,
  chat_answers: ChatAnswers,
  ...runDefaultColumns,
  created_at: Timestamp,
  updated_at: Timestamp,
  /** Null for a reader who is not a member. */
  role: Schema.NullOr(ProjectRole)
})

/** For a statement that names `projects` as `p` and `project_members` as `m`. */
export const PROJECT_COLUMNS = Object.keys(ProjectRow.fields)
  .map((column) => (column === "role" ? "m.role" : `p.${column}`))
  .join(", ")

export const projectRows = storedRows("projects", ProjectRow)

export const projectOf = ({
  approvers,
  background_ms,
  chat_answers,
  created_at,
  description,
  id,
  input_ttl_ms,
  name,
  own_requests,
  role,
  updated_at,
  visibility
}: typeof ProjectRow.Type): Project => ({
  id,
  name,
  ...(description === null ? {} : { description }),
  visibility,
  approvals: { approvers, ownRequests: own_requests },
  chats: { answers: chat_answers },
  runs: runDefaultsOf({ background_ms, input_ttl_ms }),
  // Users who are not members can read internal projects.
  role: role ?? "viewer",
  createdAt: created_at.toISOString(),
  updatedAt: updated_at.toISOString()
})
