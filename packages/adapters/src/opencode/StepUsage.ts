/** Usage of a run of OpenCode, from the finished steps of all its sessions. Each step is one call to a model. */
import type { Usage } from "@corral/domain/run/Run"
import type { ModelCall, UsageReport } from "@corral/domain/run/RuntimeAdapter"
import { ReportedCost } from "../output/ReportedCost.ts"
import { countOf, defined, objectOf, type JsonObject } from "../text/Json.ts"

/** OpenCode counts cached tokens apart from the input, and the tokens of the reasoning apart from the output. */
export class StepUsage {
  readonly #cost = new ReportedCost()
  /** All steps so far. */
  usage: Usage = {}

  /** Adds one finished step of a model. */
  add(part: JsonObject, model: string | undefined): UsageReport {
    const tokens = objectOf(part["tokens"])
    const cache = objectOf(tokens["cache"])
    const [cached, written] = [countOf(cache["read"]) ?? 0, countOf(cache["write"]) ?? 0]
    const reasoning = countOf(tokens["reasoning"]) ?? 0
    const call: ModelCall = {
      inputTokens: (countOf(tokens["input"]) ?? 0) + cached + written,
      outputTokens: (countOf(tokens["output"]) ?? 0) + reasoning,
      cachedInputTokens: cached,
      cacheWriteTokens: written,
      ...defined({ model })
    }
    const { usage: before } = this
    this.usage = {
      inputTokens: (before.inputTokens ?? 0) + call.inputTokens,
      outputTokens: (before.outputTokens ?? 0) + call.outputTokens,
      cachedInputTokens: (before.cachedInputTokens ?? 0) + cached,
      reasoningTokens: (before.reasoningTokens ?? 0) + reasoning,
      turns: (before.turns ?? 0) + 1,
      ...this.#cost.add(part["cost"], call)
    }
    return { usage: this.usage, calls: [call] }
  }
}
