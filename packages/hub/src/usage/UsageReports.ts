/**
 * Use of runs, summed by day, person, project, agent and model, as rows and as CSV.
 *
 * Guarantees: contains runs of projects that the reader may read, and the total of all rows, also of those that are not listed. Sums of costs are exact.
 */
import { SchemaValidationFailed } from "@corral/domain/errors/Failures"
import { AgentId, ProjectId, UserId } from "@corral/domain/identity/Ids"
import { Day, dayIn } from "@corral/domain/usage/Day"
import {
  dimensionsOf,
  MAX_USAGE_DAYS,
  MAX_USAGE_ROWS,
  type UsageDimension,
  type UsageReport,
  type UsageRow,
  type UsageSums,
  dimensionColumns,
  sumColumns
} from "@corral/domain/usage/UsageReport"
import { Clock, Context, Effect, Layer, Schema } from "effect"
import { SqlClient, type SqlError, type Statement } from "effect/sql"
import { limitTo } from "../store/ListPage.ts"
import { storedRows } from "../store/StoredRows.ts"
import { countOf, valueOf } from "./LimitRow.ts"

/** What a request asks for. The caller has checked that the reader may read `projectId`. */
export interface UsageRequest {
  readonly by?: string | undefined
  readonly from?: Day | undefined
  readonly to?: Day | undefined
  readonly projectId?: ProjectId | undefined
  readonly userId?: UserId | undefined
  readonly agentId?: AgentId | undefined
  readonly model?: string | undefined
}

const SumsRow = Schema.Struct({
  runs: Schema.Finite,
  live: Schema.Finite,
  input: Schema.Finite,
  output: Schema.Finite,
  cached: Schema.Finite,
  reasoning: Schema.Finite,
  turns: Schema.Finite,
  cost: Schema.Finite,
  estimated: Schema.Finite,
  without_cost: Schema.Finite
})

const SUMS = `count(*)::float8 AS runs, count(*) FILTER (WHERE NOT u.ended)::float8 AS live,
  COALESCE(sum(u.input_tokens), 0)::float8 AS input, COALESCE(sum(u.output_tokens), 0)::float8 AS output,
  COALESCE(sum(u.cached_tokens), 0)::float8 AS cached, COALESCE(sum(u.reasoning_tokens), 0)::float8 AS reasoning,
  COALESCE(sum(u.turns), 0)::float8 AS turns, COALESCE(sum(u.cost_micros), 0)::float8 AS cost,
  COALESCE(sum(u.cost_micros) FILTER (WHERE u.estimated), 0)::float8 AS estimated,
  count(*) FILTER (WHERE (u.cost_micros IS NULL OR u.unpriced) AND u.input_tokens + u.output_tokens > 0)::float8 AS without_cost`

const text = Schema.optionalKey(Schema.NullOr(Schema.String))
const GroupRow = Schema.Struct({
  ...SumsRow.fields,
  day: Schema.optionalKey(Day),
  user_id: Schema.optionalKey(Schema.NullOr(UserId)),
  user_name: text,
  project_id: Schema.optionalKey(ProjectId),
  project_name: text,
  agent_id: Schema.optionalKey(AgentId),
  model: text
})

const sumsRows = storedRows("run_usage", SumsRow)
const groupRows = storedRows("run_usage", GroupRow)

/** The columns of each dimension: those that rows are grouped by. */
const columns: Readonly<Record<UsageDimension, string>> = {
  day: "u.day",
  person: "u.user_id, w.name",
  project: "u.project_id, p.name",
  agent: "u.agent_id",
  model: "u.model"
}
const selected: Readonly<Record<UsageDimension, string>> = {
  ...columns,
  person: "u.user_id, w.name AS user_name",
  project: "u.project_id, p.name AS project_name"
}

const sumsOf = (row: typeof SumsRow.Type): UsageSums => ({
  runs: row.runs,
  liveRuns: row.live,
  inputTokens: countOf(row.input),
  outputTokens: countOf(row.output),
  cachedInputTokens: countOf(row.cached),
  reasoningTokens: countOf(row.reasoning),
  turns: countOf(row.turns),
  costUsd: valueOf("costUsd", row.cost),
  estimatedUsd: valueOf("costUsd", row.estimated),
  runsWithoutCost: row.without_cost
})

const rowOf = (row: typeof GroupRow.Type): UsageRow => ({
  ...(row.day === undefined ? {} : { day: row.day }),
  ...(row.user_id == null ? {} : { userId: row.user_id }),
  ...(row.user_name == null ? {} : { userName: row.user_name }),
  ...(row.project_id === undefined ? {} : { projectId: row.project_id }),
  ...(row.project_name == null ? {} : { projectName: row.project_name }),
  ...(row.agent_id === undefined ? {} : { agentId: row.agent_id }),
  ...(row.model === undefined ? {} : { model: row.model }),
  ...sumsOf(row)
})

/** The runs that the reader may read and the request names. */
const matching = (sql: SqlClient.SqlClient, reader: UserId, request: UsageRequest, days: DayRange) => {
  const { agentId, model, projectId, userId } = request
  const readable =
    projectId === undefined
      ? sql`u.project_id IN (
          SELECT project_id FROM project_members WHERE user_id = ${reader}
          UNION SELECT id FROM projects WHERE visibility = 'internal'
        )`
      : sql`u.project_id = ${projectId}`
  const conditions: ReadonlyArray<Statement.Fragment> = [
    readable,
    sql`u.day BETWEEN ${days.from} AND ${days.to}`,
    ...(userId === undefined ? [] : [sql`u.user_id = ${userId}`]),
    ...(agentId === undefined ? [] : [sql`u.agent_id = ${agentId}`]),
    ...(model === undefined ? [] : [sql`u.model = ${model}`])
  ]
  return sql`FROM run_usage u JOIN projects p ON p.id = u.project_id LEFT JOIN users w ON w.id = u.user_id WHERE ${sql.and(conditions)}`
}

interface DayRange {
  readonly from: Day
  readonly to: Day
}

const DAY_MS = 86_400_000
const USUAL_DAYS = 30
/** The time zone in which days begin first. */
const FIRST_ZONE = "Pacific/Kiritimati"

const FIRST_DAY_MS = Date.parse("0000-01-01T00:00:00Z")

/** Earlier years have no date of four digits. */
const dayBefore = (day: Day, days: number): Day =>
  new Date(Math.max(Date.parse(`${day}T00:00:00Z`) - days * DAY_MS, FIRST_DAY_MS)).toISOString().slice(0, 10)

/** By default the days until the newest day that any project has. */
const daysOf = ({ from, to }: UsageRequest, now: number): DayRange | SchemaValidationFailed => {
  const last = to ?? dayIn(FIRST_ZONE, now)
  const first = from ?? dayBefore(last, USUAL_DAYS)
  const problem =
    first > last
      ? "Expected a day that is not after `to`"
      : first < dayBefore(last, MAX_USAGE_DAYS - 1)
        ? `Expected at most ${MAX_USAGE_DAYS} days`
        : undefined
  return problem === undefined
    ? { from: first, to: last }
    : new SchemaValidationFailed({ details: { issues: [{ path: "from", message: problem }] } })
}

export class UsageReports extends Context.Service<
  UsageReports,
  {
    /** `most`: of the rows. */
    readonly report: (
      reader: UserId,
      request: UsageRequest,
      most?: number
    ) => Effect.Effect<UsageReport, SchemaValidationFailed | SqlError.SqlError>
  }
>()("corral/hub/UsageReports") {
  static readonly layer = Layer.effect(
    UsageReports,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const clock = yield* Clock.Clock
      const noRuns = sumsOf({
        runs: 0,
        live: 0,
        input: 0,
        output: 0,
        cached: 0,
        reasoning: 0,
        turns: 0,
        cost: 0,
        estimated: 0,
        without_cost: 0
      })
      return UsageReports.of({
        report: Effect.fn("UsageReports.report")(function* (reader, request, most = MAX_USAGE_ROWS) {
          const days = daysOf(request, clock.currentTimeMillisUnsafe())
          if (days instanceof SchemaValidationFailed) return yield* days
          const by = dimensionsOf(request.by ?? "day")
          const runs = matching(sql, reader, request, days)
          const names = (table: typeof columns) =>
            sql.literal(by.map((dimension) => table[dimension]).join(", "))
          const rows = yield* groupRows.all(sql`
            SELECT ${names(selected)}, ${sql.literal(SUMS)} ${runs} GROUP BY ${names(columns)}
            ORDER BY ${by.includes("day") ? sql`u.day, ` : sql``}cost DESC, input DESC, ${names(columns)}
            ${limitTo(sql, most + 1)}`)
          const total = yield* sumsRows.first(sql`SELECT ${sql.literal(SUMS)} ${runs}`)
          return {
            ...days,
            by,
            rows: rows.slice(0, most).map(rowOf),
            total: total === undefined ? noRuns : sumsOf(total),
            ...(rows.length > most ? { truncated: true as const } : {})
          }
        })
      })
    })
  )
}

// The rows as CSV (RFC 4180).

/** Some spreadsheets take the wide signs of East Asian texts for the others. */
const FORMULA = /^[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]/

/** A text that a spreadsheet would take for a formula begins with an apostrophe. */
const cellOf = (value: string | number | null | undefined): string => {
  if (typeof value === "number") return decimal(value)
  const shown = value ?? ""
  const safe = FORMULA.test(shown) ? `'${shown}` : shown
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

/** Without an exponent. Costs have at most six decimals. */
const decimal = (value: number): string => String(Number(value.toFixed(6)))

export const usageCsv = ({ by, rows }: Pick<UsageReport, "by" | "rows">): string => {
  const names = [...by.flatMap((dimension) => dimensionColumns[dimension]), ...sumColumns]
  const lines = [names, ...rows.map((row) => names.map((name) => cellOf(row[name])))]
  return lines.map((cells) => `${cells.join(",")}\r\n`).join("")
}
