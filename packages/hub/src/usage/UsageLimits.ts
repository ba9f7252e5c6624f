/**
 * Limits of projects for each day, and their use today.
 *
 * Guarantees: a limit is set only where the project's `runBudget` has the same kind of limit.
 * Does not: open transactions; callers run writes in one. Does not end runs: those that have started keep their budgets.
 */
import type { Proof } from "@corral/domain/access/Authorization"
import { Conflict, PermissionDenied, SchemaValidationFailed } from "@corral/domain/errors/Failures"
import type { ProjectId, UserId } from "@corral/domain/identity/Ids"
import { Budget } from "@corral/domain/run/Budget"
import { dayIn, endOfDayIn } from "@corral/domain/usage/Day"
import {
  type LimitSubject,
  limitStateOf,
  type LimitUse,
  type ProjectLimit,
  type ProjectLimits,
  type SetLimit
} from "@corral/domain/usage/Limit"
import { Clock, Context, Effect, Layer, Schema } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { notify } from "../store/Notices.ts"
import { jsonColumn, storedRows } from "../store/StoredRows.ts"
import {
  amountOf,
  amountsText,
  hasLimit,
  limitedFields,
  limitOfPerson,
  type LimitRow,
  limitRows,
  limitsWhere,
  type PersonUse,
  useOf,
  usesOfDay,
  valueOf
} from "./LimitRow.ts"

const limitedProjectRows = storedRows(
  "projects",
  Schema.Struct({ time_zone: Schema.String, run_budget: Schema.NullOr(jsonColumn(Budget)) })
)

const amountsIn = ({ cost_micros, tokens }: Pick<LimitRow, "cost_micros" | "tokens">): SetLimit => ({
  ...(cost_micros === null ? {} : { costUsd: valueOf("costUsd", cost_micros) }),
  ...(tokens === null ? {} : { tokens })
})

const limitOf = (row: LimitRow): ProjectLimit => ({
  subject: row.subject,
  ...(row.name === null ? {} : { name: row.name }),
  ...amountsIn(row),
  updatedAt: row.updated_at.toISOString()
})

const useUnder = (
  row: LimitRow,
  subject: LimitUse["subject"],
  name: string | null,
  uses: ReadonlyArray<PersonUse>
): LimitUse => {
  const { reserved, used } = useOf(uses, subject)
  const limit = amountsIn(row)
  const shown = amountsText(used)
  return {
    subject,
    ...(name === null ? {} : { name }),
    limit,
    used: shown,
    reserved: amountsText(reserved),
    state: limitStateOf(limit, shown)
  }
}

/** The use of each limit on a day: of everyone, and of the persons. */
export const usesOfLimits = (
  limits: ReadonlyArray<LimitRow>,
  uses: ReadonlyArray<PersonUse>,
  reader?: UserId
): ReadonlyArray<LimitUse> => {
  const everyone = limits.find(({ subject }) => subject === "everyone")
  const active = uses.flatMap(({ name, userId }) => (userId === null ? [] : [{ userId, name }]))
  const isActive = (reader: UserId) => active.some(({ userId }) => userId === reader)
  const persons =
    reader === undefined || isActive(reader) ? active : [{ userId: reader, name: null }, ...active]
  return [
    ...(everyone === undefined ? [] : [useUnder(everyone, "everyone", null, uses)]),
    ...persons.flatMap(({ name, userId }) => {
      const limit = limitOfPerson(limits, userId)
      return limit === undefined ? [] : [useUnder(limit, userId, name, uses)]
    })
  ]
}

export class UsageLimits extends Context.Service<
  UsageLimits,
  {
    readonly get: (
      proof: Proof<"project.read">
    ) => Effect.Effect<ProjectLimits, PermissionDenied | SqlError.SqlError>
    readonly set: (
      proof: Proof<"policy.manage">,
      subject: LimitSubject,
      limit: SetLimit
    ) => Effect.Effect<ProjectLimit, Conflict | PermissionDenied | SchemaValidationFailed | SqlError.SqlError>
    /** Without a limit, it has no effect. */
    readonly remove: (
      proof: Proof<"policy.manage">,
      subject: LimitSubject
    ) => Effect.Effect<void, SqlError.SqlError>
  }
>()("corral/hub/UsageLimits") {
  static readonly layer = Layer.effect(
    UsageLimits,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const clock = yield* Clock.Clock
      return UsageLimits.of({
        get: Effect.fnUntraced(function* ({ principal, subject: projectId }) {
          const project = yield* limitedProjectRows.first(
            sql`SELECT time_zone, run_budget FROM projects WHERE id = ${projectId}`
          )
          if (project === undefined) return yield* new PermissionDenied()
          const { run_budget, time_zone: timeZone } = project
          const now = clock.currentTimeMillisUnsafe()
          const day = dayIn(timeZone, now)
          const limits = yield* limitRows.all(limitsWhere(sql, projectId))
          const uses = yield* usesOfDay(sql, projectId, day)
          return {
            // The subject of the proof is a project.
            projectId: projectId as ProjectId,
            timeZone,
            day,
            dayEndsAt: new Date(endOfDayIn(timeZone, now)).toISOString(),
            ...(run_budget === null ? {} : { runBudget: run_budget }),
            limits: limits.map(limitOf),
            today: usesOfLimits(limits, uses, principal as UserId)
          }
        }),

        set: setLimit(sql, () => new Date(clock.currentTimeMillisUnsafe())),

        remove: Effect.fn("UsageLimits.remove")(function* ({ subject: projectId }, subject) {
          yield* sql`DELETE FROM project_limits WHERE project_id = ${projectId} AND subject = ${subject}`
          yield* forgetNotices(sql, projectId, subject)
        })
      })
    })
  )
}

const setLimit = (sql: SqlClient.SqlClient, now: () => Date): UsageLimits["Service"]["set"] =>
  Effect.fn("UsageLimits.set")(function* ({ subject: projectId }, subject, limit) {
    // Another transaction can change the project's budget meanwhile.
    const project = yield* limitedProjectRows.first(
      sql`SELECT time_zone, run_budget FROM projects WHERE id = ${projectId} FOR NO KEY UPDATE`
    )
    if (project === undefined) return yield* new PermissionDenied()
    const issues = limitedFields
      .filter((field) => limit[field] !== undefined && !hasLimit(project.run_budget, field))
      .map((field) => ({
        path: field,
        message: `Set ${field} in the project's runBudget first. A run without a budget reserves it.`
      }))
    if (issues.length > 0) return yield* new SchemaValidationFailed({ details: { issues } })
    if (subject !== "everyone" && subject !== "each") {
      const members = yield* sql`
        SELECT 1 FROM project_members WHERE project_id = ${projectId} AND user_id = ${subject}`
      if (members.length === 0) return yield* new Conflict({ message: "This user is not a project member." })
    }
    const row = {
      project_id: projectId,
      subject,
      cost_micros: limit.costUsd === undefined ? null : amountOf("costUsd", limit.costUsd),
      tokens: limit.tokens ?? null,
      updated_at: now()
    }
    yield* sql`
      INSERT INTO project_limits ${sql.insert(row)} ON CONFLICT (project_id, subject) DO UPDATE
      SET cost_micros = EXCLUDED.cost_micros, tokens = EXCLUDED.tokens, updated_at = EXCLUDED.updated_at`
    yield* forgetNotices(sql, projectId, subject)
    const stored = yield* limitRows.first(limitsWhere(sql, projectId, [subject]))
    return stored === undefined ? yield* new PermissionDenied() : limitOf(stored)
  })

/** A changed limit notifies again. */
const forgetNotices = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  projectId: string,
  subject: LimitSubject
) {
  yield* sql`
    DELETE FROM limit_notices WHERE project_id = ${projectId}
      AND ${subject === "each" ? sql`subject <> 'everyone'` : sql`subject = ${subject}`}`
  yield* notify(sql, "usage", projectId)
})
