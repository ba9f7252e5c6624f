/**
 * Metrics of what runs use, and of limits that are used up: counters that grow with the reports of runs at this Hub, and a gauge that is the same at all
 * Hubs with the database.
 */
import { Usage } from "@corral/domain/run/Run"
import { dayIn } from "@corral/domain/usage/Day"
import { CurrentMetrics, type Metrics, type Reading } from "@corral/service/telemetry/Metrics"
import { Clock, Effect, Layer, Schema, Struct } from "effect"
import { SqlClient } from "effect/sql"
import { hubMetrics } from "../HubMetrics.ts"
import { storedRows } from "../store/StoredRows.ts"
import { amountOf, type LimitedField, valueOf } from "./LimitRow.ts"

/** Of each amount that is counted, the most that the reports of a run have had. */
export const HighestUse = Schema.Struct(
  Struct.pick(Usage.fields, ["inputTokens", "outputTokens", "costUsd", "costSource"])
)
export type HighestUse = typeof HighestUse.Type

/** What a run has reported: its last report, and the most of each amount where an earlier report had more. */
interface ReportedUse {
  readonly usage?: Usage
  readonly highestUse?: HighestUse
}

export const highestUseOf = ({ highestUse, usage = {} }: ReportedUse): HighestUse => highestUse ?? usage

/** The most of each amount after another report; `undefined` where that report has it. Reports can lose their cost, or correct an amount to less. */
export const higherUse = (before: HighestUse, report: Usage = {}): HighestUse | undefined => {
  const mostOf = (name: "inputTokens" | "outputTokens" | "costUsd") =>
    Math.max(before[name] ?? 0, report[name] ?? 0)
  const most = {
    inputTokens: mostOf("inputTokens"),
    outputTokens: mostOf("outputTokens"),
    costUsd: mostOf("costUsd")
  }
  const { costUsd = 0, inputTokens = 0, outputTokens = 0 } = report
  const hasAll =
    most.inputTokens <= inputTokens && most.outputTokens <= outputTokens && most.costUsd <= costUsd
  if (hasAll) return undefined
  const costSource = costUsd < most.costUsd ? before.costSource : report.costSource
  return { ...most, ...(costSource === undefined ? {} : { costSource }) }
}

/** An amount that no run can have counts as the largest that is stored. */
const growth = (field: LimitedField, before = 0, after = 0): number =>
  valueOf(field, Math.max(0, amountOf(field, after) - amountOf(field, before)))

/** Counts what a run has used between two of its reports: the growth of the most that it has reported, so that nothing counts twice. */
export const usageCounter = (metrics: Metrics): ((before: HighestUse, after: HighestUse) => void) => {
  const cost = {
    program: metrics.counter(hubMetrics.cost, { source: "program" }),
    estimated: metrics.counter(hubMetrics.cost, { source: "estimated" })
  }
  const input = metrics.counter(hubMetrics.tokens, { direction: "input" })
  const output = metrics.counter(hubMetrics.tokens, { direction: "output" })
  return (before, after) => {
    cost[after.costSource ?? "program"].add(growth("costUsd", before.costUsd, after.costUsd))
    input.add(growth("tokens", before.inputTokens, after.inputTokens))
    output.add(growth("tokens", before.outputTokens, after.outputTokens))
  }
}

const noticeRows = storedRows(
  "limit_notices",
  Schema.Struct({
    state: Schema.Literals(["near", "reached"]),
    day: Schema.String,
    time_zone: Schema.String,
    limits: Schema.Int
  })
)

/** Limits that are nearly or completely used up today, in the days of their projects. */
export const usageMetricsLayer = Layer.effectDiscard(
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const clock = yield* Clock.Clock
    const metrics = yield* CurrentMetrics
    metrics.sample(
      Effect.gen(function* () {
        const rows = yield* noticeRows.all(sql`
          SELECT n.state, n.day, p.time_zone, count(*)::int AS limits
          FROM limit_notices n JOIN projects p ON p.id = n.project_id GROUP BY n.state, n.day, p.time_zone`)
        const now = clock.currentTimeMillisUnsafe()
        const today = rows.filter(({ day, time_zone }) => day === dayIn(time_zone, now))
        return (["near", "reached"] as const).map((state): Reading => {
          const counts = today.filter((row) => row.state === state).map(({ limits }) => limits)
          return [hubMetrics.limits, counts.reduce((sum, count) => sum + count, 0), { state }]
        })
      })
    )
  })
)
