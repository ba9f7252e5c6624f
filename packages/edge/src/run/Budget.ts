/**
 * What a run may use up, and how much of it is used. Says when 80 % of a limit are reached, once, and when all of it is.
 *
 * Synchronous and without a clock: whoever has one asks when. What a runtime does not count is never used up.
 */
import type { Budget, RunFailure, Usage } from "@corral/domain/run/Run"

/** The share of a limit at which a person is warned. */
export const WARN_AT = 0.8

export type BudgetNews =
  | { readonly _tag: "Warn"; readonly limit: keyof Budget; readonly sentence: string }
  | { readonly _tag: "UsedUp"; readonly limit: keyof Budget; readonly error: RunFailure }

const names = { tokens: "token budget", turns: "turn budget", wallMs: "time budget" } as const

const digits = new Intl.NumberFormat("en")

const sentence = (limit: keyof Budget, used: number, of: number): string => {
  const [some, all] = limit === "wallMs" ? [used / 1000, of / 1000] : [used, of]
  const unit = limit === "wallMs" ? " s" : ""
  return `${Math.floor((used / of) * 100)} % of the run's ${names[limit]} are used: ${digits.format(some)} of ${digits.format(all)}${unit}.`
}

export class BudgetMeter {
  private readonly budget: Budget
  private readonly warned = new Set<keyof Budget>()
  private over = false

  constructor(budget: Budget = {}) {
    this.budget = budget
  }

  /** What the run has used so far, as its runtime counts. */
  spend({ inputTokens = 0, outputTokens = 0, turns = 0 }: Usage): ReadonlyArray<BudgetNews> {
    return [...this.reach("tokens", inputTokens + outputTokens), ...this.reach("turns", turns)]
  }

  /** What is said once `used` of `limit` is used. */
  reach(limit: keyof Budget, used: number): ReadonlyArray<BudgetNews> {
    const of = this.budget[limit]
    if (of === undefined || this.over || used < of * WARN_AT) return []
    if (used >= of) {
      this.over = true
      return [{ _tag: "UsedUp", limit, error: usedUp(limit, used, of) }]
    }
    if (this.warned.has(limit)) return []
    this.warned.add(limit)
    return [{ _tag: "Warn", limit, sentence: sentence(limit, used, of) }]
  }
}

const usedUp = (limit: keyof Budget, used: number, of: number): RunFailure => ({
  code: limit === "wallMs" ? "run_timeout" : "permission_denied",
  message: `The run's ${names[limit]} is used up.`,
  details: { reason: "budget_used_up", budget: limit, used, limit: of }
})
