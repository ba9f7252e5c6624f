/**
 * Meters of one run: what it costs, and how much of its budget it has used.
 *
 * Guarantees: each call is priced once. A new figure of the program replaces all prices before it. A run has no cost from its first call without a
 * price on, until the program gives a figure, and none at all under a subscription: a part of the cost would look like the whole. The budget reports
 * once when 80 % of a limit are used, and once when all of it is used.
 *
 * Synchronous and without a clock: the caller measures time. The same outputs give the same cost, so that an adopted run counts on from the replay of
 * its output. A limit that the runtime does not count is never used up. A limit of the cost is over when the run uses tokens whose cost is unknown:
 * otherwise it would have no effect.
 */
import type { Usage, RunFailure } from "@corral/domain/run/Run"
import type { AdapterOutput, ModelCall, Outcome } from "@corral/domain/run/RuntimeAdapter"
import { type Budget, budgetLimits, comparedAmount, limitProgressOf } from "@corral/domain/run/Budget"

/** US dollars of a call to a model; `undefined` without a price. */
export type CallPrice = (call: ModelCall & { readonly model: string }) => number | undefined

/** Why tokens have no cost. Without a model: the runtime does not name it. */
type Unpriced =
  | { readonly _tag: "Model"; readonly model: string | undefined }
  | { readonly _tag: "Subscription" }

interface TokenCounts {
  readonly input: number
  readonly output: number
  readonly cached: number
}

const countsOf = ({ cachedInputTokens = 0, inputTokens = 0, outputTokens = 0 }: Usage): TokenCounts => ({
  input: inputTokens,
  output: outputTokens,
  cached: cachedInputTokens
})

/** Sums of small amounts without the last digits, which are noise of the addition. */
const rounded = (usd: number): number => Math.round(usd * 1e9) / 1e9

export class CostMeter {
  readonly #priceOf: CallPrice
  /** Model of calls that name none. */
  #model: string | undefined
  /** All that was reported so far. */
  #usage: Usage = {}
  /** Tokens that the cost includes. */
  #counted: TokenCounts = { input: 0, output: 0, cached: 0 }
  /** Last figure of the program. */
  #figure: number | undefined
  /** Prices of the calls since that figure, if there were any. */
  #estimated: number | undefined
  #unpriced: Unpriced | undefined
  #hasSubscription = false

  constructor(priceOf: CallPrice, model?: string) {
    this.#priceOf = priceOf
    this.#model = model
  }

  /** Why the run has used tokens that have no cost; `undefined` if all have one. */
  get unpriced(): Unpriced | undefined {
    return this.#hasSubscription ? { _tag: "Subscription" } : this.#unpriced
  }

  /** The output, with all usage of the run so far and its cost where it has usage. */
  read<Output extends AdapterOutput>(output: Output): Output
  read(output: AdapterOutput): AdapterOutput {
    switch (output._tag) {
      case "Event":
        if (output.event.type === "run.started") this.#model = output.event.payload.model ?? this.#model
        return output
      case "Usage": {
        const { calls, subscription, usage } = output
        this.#hasSubscription ||= subscription === true
        return { _tag: "Usage", usage: this.#add(usage, calls) }
      }
      case "Outcome":
        return { ...output, outcome: this.#withCost(output.outcome) }
      case "TurnStarted":
        return output.ended === undefined ? output : { ...output, ended: this.#withCost(output.ended) }
      default:
        return output
    }
  }

  #withCost(outcome: Outcome): Outcome {
    return outcome.usage === undefined ? outcome : { ...outcome, usage: this.#add(outcome.usage) }
  }

  #add({ costSource: _source, costUsd, ...usage }: Usage, calls?: ReadonlyArray<ModelCall>): Usage {
    this.#usage = { ...this.#usage, ...usage }
    if (costUsd === undefined) for (const call of calls ?? this.#uncounted) this.#price(call)
    else this.#setFigure(costUsd)
    this.#counted = countsOf(this.#usage)
    return { ...this.#usage, ...this.#cost }
  }

  #setFigure(costUsd: number): void {
    this.#figure = costUsd
    this.#estimated = undefined
    this.#unpriced = undefined
  }

  /** What the counts have grown by, as one call of the run's model. */
  get #uncounted(): ReadonlyArray<ModelCall> {
    const [now, before] = [countsOf(this.#usage), this.#counted]
    const inputTokens = Math.max(0, now.input - before.input)
    const outputTokens = Math.max(0, now.output - before.output)
    if (inputTokens + outputTokens === 0) return []
    const cachedInputTokens = Math.min(inputTokens, Math.max(0, now.cached - before.cached))
    return [{ inputTokens, outputTokens, cachedInputTokens }]
  }

  #price(call: ModelCall): void {
    if (call.inputTokens + call.outputTokens === 0) return
    const { model = this.#model } = call
    const usd = model === undefined ? undefined : this.#priceOf({ ...call, model })
    if (usd === undefined) this.#unpriced ??= { _tag: "Model", model }
    else this.#estimated = (this.#estimated ?? 0) + usd
  }

  get #cost(): Pick<Usage, "costUsd" | "costSource"> {
    if (this.unpriced !== undefined) return {}
    if (this.#estimated === undefined)
      return this.#figure === undefined ? {} : { costUsd: rounded(this.#figure), costSource: "program" }
    return { costUsd: rounded((this.#figure ?? 0) + this.#estimated), costSource: "estimated" }
  }
}

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
