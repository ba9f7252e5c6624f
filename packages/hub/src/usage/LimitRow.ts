/**
 * Codec of the table `project_limits`, and the amounts that limits and runs have: tokens, and costs in millionths of a dollar, so that sums are exact.
 */
import { type ProjectId, UserId } from "@corral/domain/identity/Ids"
import { type Budget, comparedAmount, MICROS_PER_DOLLAR } from "@corral/domain/run/Budget"
import type { Usage } from "@corral/domain/run/Run"
import { LimitSubject, type UsedAmounts } from "@corral/domain/usage/Limit"
import { MAX_MODEL_LENGTH } from "@corral/domain/usage/UsageReport"
import { Effect, Schema } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import { storableText, storedRows, Timestamp } from "../store/StoredRows.ts"

/** The parts of a budget that limits have. */
export const limitedFields = ["costUsd", "tokens"] as const
export type LimitedField = (typeof limitedFields)[number]

/** By field: millionths of a dollar, and tokens. */
export type Amounts = Readonly<Record<LimitedField, number>>

/** Largest amount of a column. */
const LARGEST = 9_000_000_000_000_000

const storable = (amount: number): number => Math.min(Math.max(Math.round(amount), 0), LARGEST)

export const amountOf = (field: LimitedField, value: number): number => storable(comparedAmount(field, value))

export const valueOf = (field: LimitedField, amount: number): number =>
  field === "costUsd" ? amount / MICROS_PER_DOLLAR : amount

/** A sum that a response can have. An Edge can report more than all numbers that are exact. */
export const countOf = (sum: number): number => Math.min(sum, Number.MAX_SAFE_INTEGER)

export const amountsText = ({ costUsd, tokens }: Amounts): UsedAmounts => ({
  costUsd: valueOf("costUsd", costUsd),
  tokens: countOf(tokens)
})

/** The model as reports show it: as long as a request can name it. */
export const modelColumnOf = (model = ""): string => storableText(model.slice(0, MAX_MODEL_LENGTH))

/** The columns of a run's report. A cost of -1 is unknown. */
export const usageColumnsOf = (usage: Usage = {}) => ({
  input_tokens: storable(usage.inputTokens ?? 0),
  output_tokens: storable(usage.outputTokens ?? 0),
  cached_tokens: storable(usage.cachedInputTokens ?? 0),
  reasoning_tokens: storable(usage.reasoningTokens ?? 0),
  turns: storable(usage.turns ?? 0),
  cost_micros: usage.costUsd === undefined ? -1 : amountOf("costUsd", usage.costUsd),
  estimated: usage.costSource === "estimated"
})

const LimitRow = Schema.Struct({
  subject: LimitSubject,
  /** Only of a person. */
  name: Schema.NullOr(Schema.String),
  cost_micros: Schema.NullOr(Schema.Finite),
  tokens: Schema.NullOr(Schema.Finite),
  updated_at: Timestamp
})
export type LimitRow = typeof LimitRow.Type

/** The amount of a limit; null without one. */
export const limitedAmount = (
  { cost_micros, tokens }: Pick<LimitRow, "cost_micros" | "tokens">,
  field: LimitedField
): number | null => (field === "costUsd" ? cost_micros : tokens)

export const limitRows = storedRows("project_limits", LimitRow)

/** The columns of limits. In the order of what they limit: the rows of one transaction are locked in this order. */
export const limitsWhere = (
  sql: SqlClient.SqlClient,
  projectId: ProjectId | string,
  subjects?: ReadonlyArray<string>
) => sql`
  SELECT l.subject, (SELECT u.name FROM users u WHERE u.id = l.subject) AS name, l.cost_micros::float8 AS cost_micros,
    l.tokens::float8 AS tokens, l.updated_at
  FROM project_limits l
  WHERE l.project_id = ${projectId} ${subjects === undefined ? sql`` : sql`AND l.subject = ANY(${subjects}::text[])`}
  ORDER BY l.subject`

/** The budget as the part that a limit of a field needs. */
export const hasLimit = (budget: Budget | null | undefined, field: LimitedField): boolean =>
  budget?.[field] !== undefined

const DayUse = Schema.Struct({
  user_id: Schema.NullOr(UserId),
  name: Schema.NullOr(Schema.String),
  used_micros: Schema.Finite,
  used_tokens: Schema.Finite,
  reserved_micros: Schema.Finite,
  reserved_tokens: Schema.Finite
})

const dayUseRows = storedRows("run_usage", DayUse)

/** What the runs of one person have used on a day, and what live runs may still use of what they have reserved. */
export interface PersonUse {
  readonly userId: UserId | null
  readonly name: string | null
  readonly used: Amounts
  readonly reserved: Amounts
}

/** What the runs of a project have used and reserved on a day, by person. */
export const usesOfDay = (
  sql: SqlClient.SqlClient,
  projectId: ProjectId | string,
  day: string
): Effect.Effect<ReadonlyArray<PersonUse>, SqlError.SqlError> =>
  Effect.map(
    dayUseRows.all(sql`
      SELECT d.*, u.name FROM (
        SELECT user_id, sum(COALESCE(cost_micros, 0))::float8 AS used_micros, sum(input_tokens + output_tokens)::float8 AS used_tokens,
          sum(GREATEST(reserved_micros - COALESCE(cost_micros, 0), 0))::float8 AS reserved_micros,
          sum(GREATEST(reserved_tokens - input_tokens - output_tokens, 0))::float8 AS reserved_tokens
        FROM run_usage WHERE project_id = ${projectId} AND day = ${day} GROUP BY user_id
      ) d LEFT JOIN users u ON u.id = d.user_id ORDER BY d.user_id`),
    (rows) =>
      rows.map((row) => ({
        userId: row.user_id,
        name: row.name,
        used: { costUsd: row.used_micros, tokens: row.used_tokens },
        reserved: { costUsd: row.reserved_micros, tokens: row.reserved_tokens }
      }))
  )

const none: Amounts = { costUsd: 0, tokens: 0 }

const sumOf = (amounts: ReadonlyArray<Amounts>): Amounts =>
  amounts.reduce((a, b) => ({ costUsd: a.costUsd + b.costUsd, tokens: a.tokens + b.tokens }), none)

/** The use of everyone, or of one person. */
export const useOf = (uses: ReadonlyArray<PersonUse>, subject: "everyone" | UserId) => {
  const counted = subject === "everyone" ? uses : uses.filter(({ userId }) => userId === subject)
  return {
    used: sumOf(counted.map(({ used }) => used)),
    reserved: sumOf(counted.map(({ reserved }) => reserved))
  }
}

/** The limit of a person: a separate one, or that of each person. */
export const limitOfPerson = (limits: ReadonlyArray<LimitRow>, userId: UserId): LimitRow | undefined =>
  limits.find(({ subject }) => subject === userId) ?? limits.find(({ subject }) => subject === "each")
