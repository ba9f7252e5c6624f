/**
 * What a run has used, from the answers to prompts and the reports between them. Tokens are reported per turn, costs for the session so far.
 */
import type { Usage } from "@corral/domain/run/Run"
import { countOf, defined, objectOf, type JsonObject } from "../text/Json.ts"

const sum = (a: number | undefined, b: number | undefined): number | undefined =>
  a === undefined && b === undefined ? undefined : (a ?? 0) + (b ?? 0)

/** Cached tokens are part of the input here. Some agents count them beside it: then their total holds them twice over. */
const tokensOf = (usage: JsonObject): Usage => {
  const input = countOf(usage["inputTokens"])
  const output = countOf(usage["outputTokens"])
  const total = countOf(usage["totalTokens"])
  const read = countOf(usage["cachedReadTokens"])
  const cached = (read ?? 0) + (countOf(usage["cachedWriteTokens"]) ?? 0)
  const beside =
    cached > 0 && total !== undefined && total >= (input ?? 0) + (output ?? 0) + cached && input !== undefined
  return defined({
    inputTokens: beside ? input + cached : input,
    outputTokens: output,
    cachedInputTokens: read,
    reasoningTokens: countOf(usage["thoughtTokens"])
  })
}

/** The token counts of a prompt's answer, in the protocol's own place or in the one of agents that are older than it. */
const toldBy = (result: JsonObject): Usage => {
  if (result["usage"] !== undefined) return tokensOf(objectOf(result["usage"]))
  const counts = objectOf(objectOf(objectOf(result["_meta"])["quota"])["token_count"])
  return defined({
    inputTokens: countOf(counts["input_tokens"]),
    outputTokens: countOf(counts["output_tokens"])
  })
}

const total = (a: Usage, b: Usage): Usage =>
  defined({
    inputTokens: sum(a.inputTokens, b.inputTokens),
    outputTokens: sum(a.outputTokens, b.outputTokens),
    cachedInputTokens: sum(a.cachedInputTokens, b.cachedInputTokens),
    reasoningTokens: sum(a.reasoningTokens, b.reasoningTokens)
  })

export class AcpUsage {
  /** A resumed session's cost counts the runs before this one, and nothing tells them apart. */
  readonly #resumed: boolean
  /** Tokens of the turns that are answered. */
  #answered: Usage = {}
  /** Tokens of this turn that are reported before its answer. */
  #collector: Usage = {}
  #costUsd: number | undefined

  constructor(resumed: boolean) {
    this.#resumed = resumed
  }

  get usage(): Usage | undefined {
    const usage = defined({ ...total(this.#answered, this.#collector), costUsd: this.#costUsd })
    return Object.keys(usage).length === 0 ? undefined : usage
  }

  /** A prompt's answer. Where it tells no tokens, those that were counted hold. */
  answered(result: JsonObject): void {
    const told = toldBy(result)
    this.#answered = total(this.#answered, Object.keys(told).length === 0 ? this.#collector : told)
    this.#collector = {}
  }

  /** Tokens of one reply of the model, beside a chunk; true where there are any. */
  counted(usage: JsonObject): boolean {
    const told = tokensOf(usage)
    this.#collector = total(this.#collector, told)
    return Object.keys(told).length > 0
  }

  /** A `usage_update`; true where it tells something new. Its `used` is the size of the context, not what was spent. */
  reported(update: JsonObject): boolean {
    const { amount, currency } = objectOf(update["cost"])
    if (this.#resumed || currency !== "USD" || typeof amount !== "number" || !Number.isFinite(amount))
      return false
    if (amount < 0 || amount <= (this.#costUsd ?? -1)) return false
    this.#costUsd = amount
    return true
  }
}
