/**
 * Limits of a turn as columns: of a message, and of an agent as defaults.
 */
import { Budget, type RunLimits } from "@corral/domain/run/Budget"
import { Schema } from "effect"
import { jsonColumn } from "../store/StoredRows.ts"

export const limitColumns = {
  budget: Schema.NullOr(jsonColumn(Budget)),
  timeout_ms: Schema.NullOr(Schema.Int)
}
const LimitColumns = Schema.Struct(limitColumns)
type LimitColumns = typeof LimitColumns.Type

/** The limits of a row, without absent ones. */
export const limitsIn = ({
  budget,
  timeout_ms
}: LimitColumns): { readonly budget?: Budget; readonly timeoutMs?: number } => ({
  ...(budget === null ? {} : { budget }),
  ...(timeout_ms === null ? {} : { timeoutMs: timeout_ms })
})

export const limitColumnsOf = ({ budget, timeoutMs }: RunLimits): LimitColumns => ({
  budget: budget ?? null,
  timeout_ms: timeoutMs ?? null
})

/** A budget as text of its column. */
export const storedBudget = (budget: Budget | null): string | null =>
  budget === null ? null : JSON.stringify(budget)
