/**
 * What a run of Codex has used, from the totals per conversation after each reply of the model.
 *
 * A resumed conversation's total counts the runs before this one. Sub-agents have conversations of their own, and count.
 */
import type { Usage } from "@corral/domain/run/Run"
import { countOf, defined, objectOf, type JsonObject } from "../text/Json.ts"

interface Tokens {
  readonly input: number
  readonly output: number
  readonly cached: number
  readonly reasoning: number
}

const none: Tokens = { input: 0, output: 0, cached: 0, reasoning: 0 }

const tokensOf = (told: JsonObject): Tokens => ({
  input: countOf(told["inputTokens"]) ?? 0,
  output: countOf(told["outputTokens"]) ?? 0,
  cached: countOf(told["cachedInputTokens"]) ?? 0,
  reasoning: countOf(told["reasoningOutputTokens"]) ?? 0
})

const plus = (a: Tokens, b: Tokens, sign: 1 | -1): Tokens => ({
  input: Math.max(0, a.input + sign * b.input),
  output: Math.max(0, a.output + sign * b.output),
  cached: Math.max(0, a.cached + sign * b.cached),
  reasoning: Math.max(0, a.reasoning + sign * b.reasoning)
})

export class CodexUsage {
  /** What a conversation had used before this run. */
  readonly #before = new Map<string, Tokens>()
  readonly #total = new Map<string, Tokens>()
  #replies = 0

  /**
   * Follows `{total, last}` of a conversation; gives what the run has used where that is more than before. `since` says whether the
   * conversation began with this run; `ours`, whether a reply to this run is counted in it.
   */
  follow(thread: string, usage: JsonObject, since: boolean, ours: boolean): Usage | undefined {
    const total = tokensOf(objectOf(usage["total"]))
    if (!ours) {
      if (!this.#total.has(thread)) this.#before.set(thread, total)
      return undefined
    }
    if (!this.#before.has(thread))
      this.#before.set(thread, since ? none : plus(total, tokensOf(objectOf(usage["last"])), -1))
    const known = this.#total.get(thread)
    if (known?.input === total.input && known.output === total.output) return undefined
    this.#total.set(thread, total)
    this.#replies++
    return this.usage
  }

  /** So far; `undefined` before the first reply. */
  get usage(): Usage | undefined {
    if (this.#replies === 0) return undefined
    let sum = none
    for (const [thread, total] of this.#total)
      sum = plus(sum, plus(total, this.#before.get(thread) ?? none, -1), 1)
    const { cached, input, output, reasoning } = sum
    return {
      inputTokens: input,
      outputTokens: output,
      cachedInputTokens: cached,
      reasoningTokens: reasoning,
      turns: this.#replies
    }
  }
}

/** The counts of an `exec` turn. */
export const usageOfTurn = (told: JsonObject): Usage =>
  defined({
    inputTokens: countOf(told["input_tokens"]),
    outputTokens: countOf(told["output_tokens"]),
    cachedInputTokens: countOf(told["cached_input_tokens"]),
    reasoningTokens: countOf(told["reasoning_output_tokens"])
  })
