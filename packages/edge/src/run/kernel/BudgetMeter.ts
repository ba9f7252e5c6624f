/**
 * Budget of a run: reports once when 80 % of a limit are used, and once when all of it is used.
 *
 * Synchronous and without a clock: the caller measures time. A limit that the runtime does not count is never used up. A limit of the cost is over when
 * the run uses tokens whose cost is unknown: otherwise it would have no effect.
 */
import { type Budget, budgetLimits, comparedAmount, limitProgressOf } from "@corral/domain/run/Budget"
import type { RunFailure, Usage } from "@corral/domain/run/Run"
import type { Unpriced } from "./CostMeter.ts"

export type BudgetNotice =
  | { readonly _tag: "Warn"; readonly limit: keyof Budget; readonly text: string }
  | { readonly _tag: "UsedUp"; readonly limit: keyof Budget; readonly error: RunFailure }

const names = {
  tokens: "token budget",
  turns: "turn budget",
  wallMs: "time budget",
  costUsd: "cost budget"
} as const satisfies Record<keyof Budget, string>

/** The first use of `Intl` in a process takes 20 ms and some megabytes: not at the start. */
const withSeparators = (value: number, fractionDigits = 3): string =>
  value.toLocaleString("en", { maximumFractionDigits: fractionDigits })

/** Small amounts have more digits. */
const inDollars = (usd: number): string => `$${withSeparators(usd, usd < 1 ? 6 : 2)}`

const amounts = (limit: keyof Budget, used: number, of: number): string => {
  switch (limit) {
    case "wallMs":
      return `${withSeparators(used / 1000)} of ${withSeparators(of / 1000)} s`
    case "costUsd":
      return `${inDollars(used)} of ${inDollars(of)}`
    case "tokens":
    case "turns":
      return `${withSeparators(used)} of ${withSeparators(of)}`
  }
}

const warningText = (limit: keyof Budget, used: number, of: number): string => {
  const percent = (comparedAmount(limit, used) * 100) / comparedAmount(limit, of)
  return `${Math.floor(percent)} % of the run's ${names[limit]} is used: ${amounts(limit, used, of)}.`
}

const none: ReadonlyArray<keyof Budget> = []

/** Id of the message that warns about a limit. */
export const budgetNoticeId = (limit: keyof Budget): string => `budget:${limit}`

export class BudgetMeter {
  private readonly budget: Budget
  private warned: ReadonlyArray<keyof Budget> = none
  private over = false

  /** `notices`: ids of messages, warnings that were emitted among them. */
  constructor(budget: Budget = {}, notices: ReadonlySet<string> = new Set()) {
    this.budget = budget
    if (notices.size > 0) this.warned = budgetLimits.filter((limit) => notices.has(budgetNoticeId(limit)))
  }

  /** Notices for what the run has used so far. `unpriced`: why some of its tokens have no cost. */
  charge(usage: Usage, unpriced?: Unpriced): ReadonlyArray<BudgetNotice> {
    const { costUsd = 0, inputTokens = 0, outputTokens = 0, turns = 0 } = usage
    return [
      ...this.reach("tokens", inputTokens + outputTokens),
      ...this.reach("turns", turns),
      ...(unpriced === undefined ? this.reach("costUsd", costUsd) : this.uncount(unpriced))
    ]
  }

  /** Notices for `used` of `limit`. */
  reach(limit: keyof Budget, used: number): ReadonlyArray<BudgetNotice> {
    const of = this.budget[limit]
    if (of === undefined || this.over) return []
    const progress = limitProgressOf(limit, used, of)
    if (progress === "open") return []
    if (progress === "reached") {
      this.over = true
      return [{ _tag: "UsedUp", limit, error: usedUp(limit, used, of) }]
    }
    if (this.warned.includes(limit)) return []
    this.warned = [...this.warned, limit]
    return [{ _tag: "Warn", limit, text: warningText(limit, used, of) }]
  }

  private uncount(unpriced: Unpriced): ReadonlyArray<BudgetNotice> {
    if (this.budget.costUsd === undefined || this.over) return []
    this.over = true
    return [{ _tag: "UsedUp", limit: "costUsd", error: costUnknown(unpriced) }]
  }
}

const usedUp = (limit: keyof Budget, used: number, of: number): RunFailure => ({
  code: limit === "wallMs" ? "run_timeout" : "budget_exceeded",
  message: `The run's ${names[limit]} is used up.`,
  details: { reason: "budget_used_up", budget: limit, used, limit: of }
})

const costUnknown = (unpriced: Unpriced): RunFailure => {
  const details = { reason: "cost_unknown", budget: "costUsd" } as const
  if (unpriced._tag === "Subscription")
    return {
      code: "budget_exceeded",
      message:
        "The agent is paid by a subscription, so the run has no cost that a budget can limit. Limit tokens.",
      details: { ...details, subscription: true }
    }
  const { model } = unpriced
  return {
    code: "budget_exceeded",
    message: `The price of ${model ?? "the agent's model"} is not known, so the run's cost budget can't be counted. Add the price to CORRAL_EDGE_PRICES_FILE, or limit tokens.`,
    details: { ...details, ...(model === undefined ? {} : { model }) }
  }
}
