/**
 * Usage of a run of Codex, from the totals per thread after each reply of the model.
 *
 * The total of a resumed thread includes earlier runs. Sub-agents have their own threads, which count too.
 */
import type { Usage } from "@corral/domain/run/Run"
import type { ModelCall, UsageReport } from "@corral/domain/run/RuntimeAdapter"
import { arrayOf, countOf, defined, objectOf, type JsonObject } from "../text/Json.ts"

interface Tokens {
  readonly input: number
  readonly output: number
  readonly cached: number
  readonly cacheWrite: number
  readonly reasoning: number
}

const none: Tokens = { input: 0, output: 0, cached: 0, cacheWrite: 0, reasoning: 0 }

const tokensOf = (tokens: JsonObject): Tokens => ({
  input: countOf(tokens["inputTokens"]) ?? 0,
  output: countOf(tokens["outputTokens"]) ?? 0,
  cached: countOf(tokens["cachedInputTokens"]) ?? 0,
  // Part of the input, too. Older versions do not report it.
  cacheWrite: countOf(tokens["cacheWriteInputTokens"]) ?? 0,
  reasoning: countOf(tokens["reasoningOutputTokens"]) ?? 0
})

const plus = (a: Tokens, b: Tokens, sign: 1 | -1): Tokens => ({
  input: Math.max(0, a.input + sign * b.input),
  output: Math.max(0, a.output + sign * b.output),
  cached: Math.max(0, a.cached + sign * b.cached),
  cacheWrite: Math.max(0, a.cacheWrite + sign * b.cacheWrite),
  reasoning: Math.max(0, a.reasoning + sign * b.reasoning)
})

const callOf = (tokens: Tokens, model: string | undefined): ModelCall => ({
  inputTokens: tokens.input,
  outputTokens: tokens.output,
  cachedInputTokens: tokens.cached,
  cacheWriteTokens: tokens.cacheWrite,
  ...defined({ model })
})

export class CodexUsage {
  /** Tokens of a thread before this run. */
  readonly #before = new Map<string, Tokens>()
  readonly #total = new Map<string, Tokens>()
  /** Tokens of this run in all threads. */
  #sum = none
  #replies = 0
  /** Models of threads, as far as they are not the run's. */
  readonly #models = new Map<string, string>()
  /** Whether a plan of the account pays. */
  #hasPlan = false

  /** Reads which model answers, and whether the account has a plan. An account that pays by its use has none. */
  readNotice(method: string, params: JsonObject, thread: string): void {
    if (method === "model/rerouted") this.#setModel(thread, params["toModel"])
    else if (method === "account/rateLimits/updated")
      this.#hasPlan ||= typeof objectOf(params["rateLimits"])["planType"] === "string"
  }

  /** Reads the models of sub-agents that a call has started. */
  readItem(item: JsonObject): void {
    for (const thread of arrayOf(item["receiverThreadIds"])) this.#setModel(thread, item["model"])
  }

  #setModel(thread: unknown, model: unknown): void {
    if (typeof thread === "string" && typeof model === "string" && model !== "")
      this.#models.set(thread, model)
  }

  /**
   * Reads `{total, last}` of a thread. Returns the run's usage if it has grown. `isNewThread`: this run started the thread. `isOurReply`: the
   * total includes a reply to this run.
   */
  follow(
    thread: string,
    usage: JsonObject,
    isNewThread: boolean,
    isOurReply: boolean
  ): UsageReport | undefined {
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
    const call = callOf(plus(total, previous ?? before, -1), this.#models.get(thread))
    return { usage: this.#used, calls: [call], ...(this.#hasPlan ? { subscription: true } : {}) }
  }

  /** Usage so far; `undefined` before the first reply. */
  get usage(): Usage | undefined {
    return this.#replies === 0 ? undefined : this.#used
  }

  get #used(): Usage {
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
