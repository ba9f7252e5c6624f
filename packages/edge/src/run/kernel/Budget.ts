/**
 * Budget meter of one run. Reports once when 80 % of a limit are used, and once when all of it is used.
 *
 * Synchronous and without a clock: the caller measures time. A limit that the runtime does not count is never used up.
 */
import type { Budget, RunFailure, Usage } from "@corral/domain/run/Run"

/** Share of a limit at which the run emits a warning. */
export const WARN_AT = 0.8

export type BudgetNotice =
  | { readonly _tag: "Warn"; readonly limit: keyof Budget; readonly text: string }
  | { readonly _tag: "UsedUp"; readonly limit: keyof Budget; readonly error: RunFailure }

const names = { tokens: "token budget", turns: "turn budget", wallMs: "time budget" } as const

/** The first use of `Intl` in a process takes 20 ms and some megabytes: not at the start. */
const withSeparators = (value: number): string => value.toLocaleString("en")

const warningText = (limit: keyof Budget, used: number, of: number): string => {
  const [some, all] = limit === "wallMs" ? [used / 1000, of / 1000] : [used, of]
  const unit = limit === "wallMs" ? " s" : ""
  return `${Math.floor((used / of) * 100)} % of the run's ${names[limit]} are used: ${withSeparators(some)} of ${withSeparators(all)}${unit}.`
}

const none: ReadonlyArray<keyof Budget> = []
const limits: ReadonlyArray<keyof Budget> = ["tokens", "turns", "wallMs"]

/** Id of the message that warns about a limit. */
export const budgetNoticeId = (limit: keyof Budget): string => `budget:${limit}`

export class BudgetMeter {
  private readonly budget: Budget
  private warned: ReadonlyArray<keyof Budget> = none
  private over = false

  /** `notices`: ids of messages, warnings that were emitted among them. */
  constructor(budget: Budget = {}, notices: ReadonlySet<string> = new Set()) {
    this.budget = budget
    if (notices.size > 0) this.warned = limits.filter((limit) => notices.has(budgetNoticeId(limit)))
  }

  /** Notices for what the run has used so far, as its runtime counts. */
  charge({ inputTokens = 0, outputTokens = 0, turns = 0 }: Usage): ReadonlyArray<BudgetNotice> {
    return [...this.reach("tokens", inputTokens + outputTokens), ...this.reach("turns", turns)]
  }

  /** Notices for `used` of `limit`. */
  reach(limit: keyof Budget, used: number): ReadonlyArray<BudgetNotice> {
    const of = this.budget[limit]
    if (of === undefined || this.over || used < of * WARN_AT) return []
    if (used >= of) {
      this.over = true
      return [{ _tag: "UsedUp", limit, error: usedUp(limit, used, of) }]
    }
    if (this.warned.includes(limit)) return []
    this.warned = [...this.warned, limit]
    return [{ _tag: "Warn", limit, text: warningText(limit, used, of) }]
  }
}

const usedUp = (limit: keyof Budget, used: number, of: number): RunFailure => ({
  code: limit === "wallMs" ? "run_timeout" : "permission_denied",
  message: `The run's ${names[limit]} is used up.`,
  details: { reason: "budget_used_up", budget: limit, used, limit: of }
})
