/**
 * What a run has used, from the answers to prompts and the reports between them. Tokens are told per turn, a cost for the session so far.
 */
import type { Usage } from "@corral/domain/Run"
import { countOf, defined, objectOf, type JsonObject } from "../Json.ts"

const sum = (a: number | undefined, b: number | undefined): number | undefined =>
  a === undefined && b === undefined ? undefined : (a ?? 0) + (b ?? 0)

/** Cached tokens are part of the input here. Some agents count them beside it: then their total holds them twice over. */
const tokensOf = (usage: JsonObject): Usage => {
  const [input, output, total] = [usage["inputTokens"], usage["outputTokens"], usage["totalTokens"]].map(
    countOf
  )
  const [read, written, thought] = [
    usage["cachedReadTokens"],
    usage["cachedWriteTokens"],
    usage["thoughtTokens"]
  ].map(countOf)
  const cached = (read ?? 0) + (written ?? 0)
  const beside =
    cached > 0 && total !== undefined && total >= (input ?? 0) + (output ?? 0) + cached && input !== undefined
  return defined({
    inputTokens: beside ? input + cached : input,
    outputTokens: output,
    cachedInputTokens: read,
    reasoningTokens: thought
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

export class Spending {
  /** A resumed session's cost counts the runs before this one, and nothing tells them apart. */
  readonly #resumed: boolean
  #tokens: Usage = {}
  #costUsd: number | undefined

  constructor(resumed: boolean) {
    this.#resumed = resumed
  }

  get usage(): Usage | undefined {
    const usage = { ...this.#tokens, ...defined({ costUsd: this.#costUsd }) }
    return Object.keys(usage).length === 0 ? undefined : usage
  }

  /** A prompt's answer. */
  answered(result: JsonObject): void {
    const earlier = this.#tokens
    const turn = toldBy(result)
    this.#tokens = defined({
      inputTokens: sum(earlier.inputTokens, turn.inputTokens),
      outputTokens: sum(earlier.outputTokens, turn.outputTokens),
      cachedInputTokens: sum(earlier.cachedInputTokens, turn.cachedInputTokens),
      reasoningTokens: sum(earlier.reasoningTokens, turn.reasoningTokens)
    })
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
