/**
 * Cost of one run: the figure of its program, and prices of the model calls that the figure does not include.
 *
 * Guarantees: each call is priced once. A new figure of the program replaces all prices before it. A run has no cost from its first call without a
 * price on, until the program gives a figure, and none at all under a subscription: a part of the cost would look like the whole.
 *
 * Synchronous and without a clock. The same outputs give the same cost, so that an adopted run counts on from the replay of its output.
 */
import type { Usage } from "@corral/domain/run/Run"
import type { AdapterOutput, ModelCall, Outcome } from "@corral/domain/run/RuntimeAdapter"

/** US dollars of a call to a model; `undefined` without a price. */
export type CallPrice = (call: ModelCall & { readonly model: string }) => number | undefined

/** Why tokens have no cost. Without a model: the runtime does not name it. */
export type Unpriced =
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
