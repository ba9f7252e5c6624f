/**
 * Cost of a run in figures that its program reports for each call to a model.
 *
 * A program that does not know the price of a model reports 0 for tokens that were used. Then the cost of the run is unknown: for free models and under a
 * subscription, too, which look the same.
 */
import type { Usage } from "@corral/domain/run/Run"
import type { ModelCall } from "@corral/domain/run/RuntimeAdapter"

export class ReportedCost {
  #usd = 0
  #isUnknown = false

  /** The cost so far, with the figure of one more call. */
  add(figure: unknown, { inputTokens, outputTokens }: ModelCall): Pick<Usage, "costUsd"> {
    const usd = typeof figure === "number" && Number.isFinite(figure) && figure > 0 ? figure : 0
    this.#usd += usd
    this.#isUnknown ||= usd === 0 && inputTokens + outputTokens > 0
    return this.#isUnknown ? {} : { costUsd: this.#usd }
  }
}
