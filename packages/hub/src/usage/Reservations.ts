/**
 * Reservations of runs under the limits of their project: what a run may use is set aside when it starts. The end of the run releases it, by a
 * trigger of the database, and the use takes its place. So does the end of its device.
 *
 * Guarantees: what all runs of a day have used and reserved is at most the limit when a run starts, also with several Hubs: the transaction that opens
 * a run locks the limits that hold for it. A run that uses more than it has reserved is booked whole, and blocks later starts.
 */
import { BudgetExceeded } from "@corral/domain/errors/Failures"
import type { ProjectId, UserId } from "@corral/domain/identity/Ids"
import { Budget } from "@corral/domain/run/Budget"
import { type Day, dayIn, endOfDayIn } from "@corral/domain/usage/Day"
import { Effect, Schema } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import { endedRunStates } from "../store/StateLists.ts"
import { jsonColumn, storedRows } from "../store/StoredRows.ts"
import {
  amountOf,
  hasLimit,
  limitedAmount,
  type LimitedField,
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

/** The day that a run counts for, and the part of its budget that its limits have given it. */
export interface Reservation {
  readonly day: Day
  readonly budget: Budget | undefined
}

/** A run that is about to start. */
export interface LimitedStart {
  readonly projectId: ProjectId
  readonly author: UserId
  /** The budget of the request. */
  readonly budget: Budget | undefined
}

/** Columns of `limitedProject`. */
export const limitedProjectFields = {
  time_zone: Schema.String,
  run_budget: Schema.NullOr(jsonColumn(Budget)),
  limits_cost: Schema.Boolean,
  limits_tokens: Schema.Boolean
}

const LimitedProject = Schema.Struct(limitedProjectFields)
/** A project, and whether a limit holds there for a person. */
export type LimitedProject = typeof LimitedProject.Type

const projectRows = storedRows("projects", LimitedProject)

/** Subjects of the limits that hold for a person. */
const subjectsOf = (author: UserId): ReadonlyArray<string> => ["each", "everyone", author]

/** The statement, also with other columns of the table `projects`. */
export const limitedProject = (
  sql: SqlClient.SqlClient,
  { author, projectId }: Omit<LimitedStart, "budget">,
  others: ReadonlyArray<string> = []
) =>
  sql`
    SELECT ${sql.literal(["time_zone", "run_budget", ...others].map((column) => `p.${column}`).join(", "))},
      COALESCE(bool_or(l.cost_micros IS NOT NULL), false) AS limits_cost, COALESCE(bool_or(l.tokens IS NOT NULL), false) AS limits_tokens
    FROM projects p LEFT JOIN project_limits l ON l.project_id = p.id AND l.subject = ANY(${subjectsOf(author)}::text[])
    WHERE p.id = ${projectId} GROUP BY p.id`

export const findLimitedProject = (sql: SqlClient.SqlClient, start: Omit<LimitedStart, "budget">) =>
  projectRows.first(limitedProject(sql, start))

/**
 * The budget that the run is about to have, for the checks before its start: with the project's where a limit holds and the request has none. The
 * reservation may be smaller.
 */
export const limitedBudget = (
  project: LimitedProject | undefined,
  budget: Budget | undefined
): Budget | undefined => {
  if (project === undefined) return budget
  const { limits_cost, limits_tokens, run_budget } = project
  const { costUsd, tokens } = run_budget ?? {}
  const added: Budget = {
    ...(limits_cost && costUsd !== undefined ? { costUsd } : {}),
    ...(limits_tokens && tokens !== undefined ? { tokens } : {})
  }
  return Object.keys(added).length === 0 ? budget : { ...added, ...budget }
}

/**
 * Reserves what the run may use, in the transaction that opens it and has read the project, or fails where too little is left. `at`: its start.
 */
export const reserveStart = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  project: LimitedProject | undefined,
  start: LimitedStart,
  at: Date
): Effect.fn.Return<Reservation, BudgetExceeded | SqlError.SqlError> {
  const { author, projectId } = start
  const timeZone = project?.time_zone ?? "UTC"
  const day = dayIn(timeZone, at.getTime())
  if (project === undefined || !(project.limits_cost || project.limits_tokens))
    return { day, budget: undefined }
  const limits = yield* limitRows.all(sql`${limitsWhere(sql, projectId, subjectsOf(author))} FOR UPDATE OF l`)
  // A separate statement, so that it sees what others have reserved before their locks ended.
  const uses = yield* usesOfDay(sql, projectId, day)
  const subjects = [limits.find(({ subject }) => subject === "everyone"), limitOfPerson(limits, author)]
  const rests = subjects.flatMap((limit) => (limit === undefined ? [] : restsOf(limit, author, uses)))
  const budget: { -readonly [F in LimitedField]?: number } = {}
  for (const field of limitedFields) {
    const [least] = rests.filter((rest) => rest.field === field).toSorted((a, b) => a.left - b.left)
    if (least === undefined) continue
    const refusal = refusalOf(least, start.budget?.[field])
    if (refusal !== undefined) {
      const endsAt = new Date(endOfDayIn(timeZone, at.getTime())).toISOString()
      return yield* exceeded(refusal, least, { day, endsAt })
    }
    const wanted = start.budget?.[field] ?? project.run_budget?.[field]
    budget[field] = valueOf(
      field,
      wanted === undefined ? least.left : Math.min(amountOf(field, wanted), least.left)
    )
  }
  return { day, budget }
})

/** What a limit has left for a start. */
interface Rest {
  readonly field: LimitedField
  readonly subject: "everyone" | UserId
  readonly limit: number
  readonly used: number
  readonly reserved: number
  readonly left: number
}

const restsOf = (limit: LimitRow, author: UserId, uses: ReadonlyArray<PersonUse>): ReadonlyArray<Rest> => {
  const subject = limit.subject === "everyone" ? limit.subject : author
  const { reserved, used } = useOf(uses, subject)
  return limitedFields.flatMap((field) => {
    const of = limitedAmount(limit, field)
    if (of === null) return []
    const taken = used[field] + reserved[field]
    return [{ field, subject, limit: of, used: used[field], reserved: reserved[field], left: of - taken }]
  })
}

type Refusal = "limit_used_up" | "limit_too_small"

/** A budget of the request is reserved whole: the user counts on it. */
const refusalOf = ({ field, left }: Rest, requested: number | undefined): Refusal | undefined => {
  if (left <= 0) return "limit_used_up"
  return requested !== undefined && amountOf(field, requested) > left ? "limit_too_small" : undefined
}

const messages: Readonly<Record<Refusal, Readonly<Record<"everyone" | "person", string>>>> = {
  limit_used_up: {
    everyone: "The project's limit for today is used up, or reserved by runs in progress.",
    person: "Your limit in this project for today is used up, or reserved by your runs in progress."
  },
  limit_too_small: {
    everyone: "The project's limit for today has less left than the budget of this run.",
    person: "Your limit in this project for today has less left than the budget of this run."
  }
}

const exceeded = (
  reason: Refusal,
  { field, left, limit, reserved, subject, used }: Rest,
  day: { readonly day: Day; readonly endsAt: string }
): BudgetExceeded =>
  new BudgetExceeded({
    message: messages[reason][subject === "everyone" ? "everyone" : "person"],
    details: {
      reason,
      subject,
      budget: field,
      limit: valueOf(field, limit),
      used: valueOf(field, used),
      reserved: valueOf(field, reserved),
      left: valueOf(field, Math.max(left, 0)),
      ...day
    }
  })

/** Releases what live runs of a device have reserved, when it can report their ends no more. The caller has locked the device. */
export const releaseOfDevice = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, deviceId: string) {
  yield* sql`
    UPDATE run_usage SET reserved_micros = 0, reserved_tokens = 0 FROM runs
    WHERE runs.id = run_usage.run_id AND runs.target_id = ${deviceId} AND runs.state NOT IN ${endedRunStates(sql)}
      AND (run_usage.reserved_micros > 0 OR run_usage.reserved_tokens > 0)`
})

/** The limits of a project that a budget does not cover: a run without a budget would have nothing to reserve. */
export const uncoveredFields = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  projectId: string,
  runBudget: Budget | null
): Effect.fn.Return<ReadonlyArray<LimitedField>, SqlError.SqlError> {
  const limits = yield* limitRows.all(limitsWhere(sql, projectId))
  return limitedFields.filter(
    (field) => !hasLimit(runBudget, field) && limits.some((limit) => limitedAmount(limit, field) !== null)
  )
})
