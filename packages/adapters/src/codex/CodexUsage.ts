/**
 * Usage of a run of Codex, from the totals per thread after each reply of the model.
 *
 * The total of a resumed thread includes earlier runs. Sub-agents have their own threads, which count too.
 */
import type { Usage } from "@corral/domain/run/Run"
import { countOf, objectOf, type JsonObject } from "../text/Json.ts"

interface Tokens {
  readonly input: number
  readonly output: number
  readonly cached: number
  readonly reasoning: number
}

const none: Tokens = { input: 0, output: 0, cached: 0, reasoning: 0 }

const tokensOf = (tokens: JsonObject): Tokens => ({
  input: countOf(tokens["inputTokens"]) ?? 0,
  output: countOf(tokens["outputTokens"]) ?? 0,
  cached: countOf(tokens["cachedInputTokens"]) ?? 0,
  reasoning: countOf(tokens["reasoningOutputTokens"]) ?? 0
})

const plus = (a: Tokens, b: Tokens, sign: 1 | -1): Tokens => ({
  input: Math.max(0, a.input + sign * b.input),
  output: Math.max(0, a.output + sign * b.output),
  cached: Math.max(0, a.cached + sign * b.cached),
  reasoning: Math.max(0, a.reasoning + sign * b.reasoning)
})

export class CodexUsage {
  /** Tokens of a thread before this run. */
  readonly #before = new Map<string, Tokens>()
  readonly #total = new Map<string, Tokens>()
  /** Tokens of this run in all threads. */
  #sum = none
  #replies = 0

  /**
   * Reads `{total, last}` of a thread. Returns the run's usage if it has grown. `isNewThread`: this run started the thread. `isOurReply`: the
   * total includes a reply to this run.
   */
  follow(thread: string, usage: JsonObject, isNewThread: boolean, isOurReply: boolean): Usage | undefined {
    const total = tokensOf(objectOf(usage["total"]))
    if (!isOurReply) {
      if (!this.#total.has(thread)) this.#before.set(thread, total)
      return undefined
    }
    if (!this.#before.has(thread))
      this.#before.set(thread, isNewThread ? none : plus(total, tokensOf(objectOf(usage["last"])), -1))
    const previous = this.#total.get(thread)
    if (previous?.input === total.input && previous.output === total.output) return undefined
    const before = this.#before.get(thread) ?? none
    if (previous !== undefined) this.#sum = plus(this.#sum, plus(previous, before, -1), -1)
    this.#sum = plus(this.#sum, plus(total, before, -1), 1)
    this.#total.set(thread, total)
    this.#replies++
    return this.usage
  }

  /** Usage so far; `undefined` before the first reply. */
  get usage(): Usage | undefined {
    if (this.#replies === 0) return undefined
    const { cached, input, output, reasoning } = this.#sum
    return {
      inputTokens: input,
      outputTokens: output,
      cachedInputTokens: cached,
      reasoningTokens: reasoning,
      turns: this.#replies
    }
  }
}
