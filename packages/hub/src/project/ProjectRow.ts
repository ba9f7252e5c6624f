/**
 * Codec of the table `projects`, with the role of the reader. Also the lock that prevents the deletion of a project while a
 * transaction writes rows that belong to it.
 */
import { PermissionDenied } from "@corral/domain/errors/Failures"
import { ProjectId, type UserId } from "@corral/domain/identity/Ids"
import {
  Approvers,
  ChatAnswers,
  type Project,
  ProjectRole,
  ProjectVisibility,
  type RunDefaults
} from "@corral/domain/project/Project"
import { Checks } from "@corral/domain/run/Check"
import { Budget } from "@corral/domain/run/Budget"
import { Isolation } from "@corral/domain/run/Run"
import { Effect, Schema } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import { jsonColumn, storedRows, Timestamp } from "../store/StoredRows.ts"
import { type LimitedProject, limitedProject, limitedProjectFields } from "../usage/Reservations.ts"

/** Holds until the transaction ends. A deleted project is refused like one that never existed. */
export const lockProject = (
  sql: SqlClient.SqlClient,
  projectId: string
): Effect.Effect<void, PermissionDenied | SqlError.SqlError> =>
  Effect.flatMap(sql`SELECT 1 FROM projects WHERE id = ${projectId} FOR KEY SHARE`, ({ length }) =>
    length === 0 ? Effect.fail(new PermissionDenied()) : Effect.void
  )

/** Limits and folder of runs that do not have others. */
const runDefaultColumns = {
  background_ms: Schema.NullOr(Schema.Int),
  input_ttl_ms: Schema.NullOr(Schema.Int),
  isolation: Schema.NullOr(Isolation)
}
const checksColumn = Schema.NullOr(jsonColumn(Checks))

const checksRows = storedRows("projects", Schema.Struct({ checks: checksColumn }))

/** Checks of the project; `undefined` if there are none. */
export const findChecks = (sql: SqlClient.SqlClient, projectId: string) =>
  Effect.map(
    checksRows.first(sql`SELECT checks FROM projects WHERE id = ${projectId}`),
    (row) => row?.checks ?? undefined
  )

const RunDefaultsRow = Schema.Struct(runDefaultColumns)
const runDefaultsRows = storedRows("projects", RunDefaultsRow)

export const findRunDefaults = (
  sql: SqlClient.SqlClient,
  projectId: string
): Effect.Effect<RunDefaults, SqlError.SqlError> =>
  Effect.map(
    runDefaultsRows.first(
      sql`SELECT ${sql.literal(Object.keys(runDefaultColumns).join(", "))} FROM projects WHERE id = ${projectId}`
    ),
    (row) => (row === undefined ? {} : runDefaultsOf(row))
  )

const startTermsRows = storedRows(
  "projects",
  Schema.Struct({ ...runDefaultColumns, ...limitedProjectFields })
)

/** What a project gives a run that is about to start: its defaults, and the limits of the run's author. In one statement, since every start reads it. */
export const findStartTerms = (
  sql: SqlClient.SqlClient,
  start: { readonly author: UserId; readonly projectId: ProjectId }
): Effect.Effect<StartTerms, SqlError.SqlError> =>
  Effect.map(startTermsRows.first(limitedProject(sql, start, Object.keys(runDefaultColumns))), (project) => ({
    defaults: project === undefined ? {} : runDefaultsOf(project),
    project
  }))

export interface StartTerms {
  readonly defaults: RunDefaults
  /** `undefined` if it was removed. */
  readonly project: LimitedProject | undefined
}

const runDefaultsOf = ({
  background_ms,
  input_ttl_ms,
  isolation
}: typeof RunDefaultsRow.Type): RunDefaults => ({
  ...(background_ms === null ? {} : { backgroundMs: background_ms }),
  ...(input_ttl_ms === null ? {} : { inputTtlMs: input_ttl_ms }),
  ...(isolation === null ? {} : { isolation })
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
  checks: checksColumn,
  time_zone: Schema.String,
  run_budget: Schema.NullOr(jsonColumn(Budget)),
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
  checks,
  created_at,
  description,
  id,
  input_ttl_ms,
  isolation,
  name,
  own_requests,
  role,
  run_budget,
  time_zone,
  updated_at,
  visibility
}: typeof ProjectRow.Type): Project => ({
  id,
  name,
  ...(description === null ? {} : { description }),
  visibility,
  approvals: { approvers, ownRequests: own_requests },
  chats: { answers: chat_answers },
  runs: runDefaultsOf({ background_ms, input_ttl_ms, isolation }),
  ...(checks === null ? {} : { checks }),
  timeZone: time_zone,
  ...(run_budget === null ? {} : { runBudget: run_budget }),
  // Users who are not members can read internal projects.
  role: role ?? "viewer",
  createdAt: created_at.toISOString(),
  updatedAt: updated_at.toISOString()
})
