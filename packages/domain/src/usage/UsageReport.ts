/**
 * Use of runs at a Hub, summed by day, person, project, agent and model. Live runs count with what they have reported so far. Runs that start at an
 * Edge without the Hub are not part of it.
 */
import { Schema } from "effect"
import { AgentId, ProjectId, UserId } from "../identity/Ids.ts"
import { isStorableText } from "../text/Text.ts"
import { Day } from "./Day.ts"

/** What rows are summed by. */
export const UsageDimension = Schema.Literals(["day", "person", "project", "agent", "model"])
export type UsageDimension = typeof UsageDimension.Type

const isGrouping = (text: string): boolean => {
  const names = text.split(",")
  return (
    new Set(names).size === names.length &&
    names.every((name) => UsageDimension.literals.some((each) => each === name))
  )
}

/** Dimensions with commas, each at most once. */
export const UsageGrouping = Schema.String.check(
  Schema.makeFilter(isGrouping, {
    expected: "day, person, project, agent and model, with commas between them"
  })
)

/** The dimensions of a valid grouping. */
export const dimensionsOf = (grouping: string): ReadonlyArray<UsageDimension> =>
  UsageDimension.literals.filter((name) => grouping.split(",").includes(name))

/** Most days of one request. */
export const MAX_USAGE_DAYS = 400
/** Most characters of a model's name. Reports cut a longer one. */
export const MAX_MODEL_LENGTH = 200
/** Most rows of one response. */
export const MAX_USAGE_ROWS = 5_000
/** Most rows of a CSV file. A request for more is refused: a file does not say that rows are missing. */
export const MAX_CSV_ROWS = 50_000

/**
 * Query of the usage. `from` and `to` are days of each project's time zone, both included: by default the 30 days until today, in UTC. `by` is `day` by
 * default.
 */
export const usageQuery = {
  by: Schema.optionalKey(UsageGrouping),
  from: Schema.optionalKey(Day),
  to: Schema.optionalKey(Day),
  projectId: Schema.optionalKey(ProjectId),
  userId: Schema.optionalKey(UserId),
  agentId: Schema.optionalKey(AgentId.check(isStorableText)),
  model: Schema.optionalKey(Schema.String.check(Schema.isMaxLength(MAX_MODEL_LENGTH), isStorableText))
}

const count = Schema.Int

/** Sums of runs. */
export const UsageSums = Schema.Struct({
  runs: count,
  /** Of these, runs that have not ended. Their figures still grow. */
  liveRuns: count,
  inputTokens: count,
  outputTokens: count,
  /** Part of `inputTokens`. */
  cachedInputTokens: count,
  /** Part of `outputTokens`. */
  reasoningTokens: count,
  turns: count,
  /** US dollars of the runs whose cost is known. */
  costUsd: Schema.Finite,
  /** Part of `costUsd` that was computed from tokens and prices. */
  estimatedUsd: Schema.Finite,
  /** Runs that used tokens and have no cost: models without a price, and subscriptions. */
  runsWithoutCost: count
}).annotate({ identifier: "UsageSums" })
export type UsageSums = typeof UsageSums.Type

/** Sums of the runs with these values. A field is present if the rows are summed by it; `model` is null if the runtime did not name one. */
export const UsageRow = Schema.Struct({
  day: Schema.optionalKey(Day),
  userId: Schema.optionalKey(UserId),
  userName: Schema.optionalKey(Schema.String),
  projectId: Schema.optionalKey(ProjectId),
  projectName: Schema.optionalKey(Schema.String),
  agentId: Schema.optionalKey(AgentId),
  model: Schema.optionalKey(Schema.NullOr(Schema.String)),
  ...UsageSums.fields
}).annotate({ identifier: "UsageRow" })
export type UsageRow = typeof UsageRow.Type

/** Fields of rows that are summed by a dimension. */
export const dimensionColumns: Readonly<Record<UsageDimension, ReadonlyArray<keyof UsageRow>>> = {
  day: ["day"],
  person: ["userId", "userName"],
  project: ["projectId", "projectName"],
  agent: ["agentId"],
  model: ["model"]
}

/** Fields of sums, in the order of a table. */
export const sumColumns = [
  "runs",
  "liveRuns",
  "inputTokens",
  "outputTokens",
  "cachedInputTokens",
  "reasoningTokens",
  "turns",
  "costUsd",
  "estimatedUsd",
  "runsWithoutCost"
] as const satisfies ReadonlyArray<keyof UsageSums>

/** Response of GET /client/usage. Rows are in the order of their days, then by falling cost and tokens. */
export const UsageReport = Schema.Struct({
  from: Day,
  to: Day,
  by: Schema.Array(UsageDimension),
  rows: Schema.Array(UsageRow),
  /** Of all rows, those that are not listed included. */
  total: UsageSums,
  /** Only if there are more rows than the response has. */
  truncated: Schema.optionalKey(Schema.Literal(true))
}).annotate({ identifier: "UsageReport" })
export type UsageReport = typeof UsageReport.Type
