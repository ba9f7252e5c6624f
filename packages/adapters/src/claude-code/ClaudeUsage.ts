/**
 * Usage of one run of Claude Code, with its sub-agents.
 *
 * A `result` counts each model since the result before it. An older program counts them since the start of its process, with the conversation
 * that was resumed; then a resumed run counts only the agent's own turn, and has no cost. Between results, the frames of the stream and the
 * messages of sub-agents are counted.
 *
 * Guarantees: nothing is counted twice. Only the agent's own replies count as turns, as in the result.
 */
import type { Usage } from "@corral/domain/run/Run"
import { countOf, defined, isJsonObject, objectOf, textOf, type JsonObject } from "../text/Json.ts"

interface Tokens {
  readonly input: number
  readonly output: number
  readonly cached: number
  readonly reasoning: number
}

const none: Tokens = { input: 0, output: 0, cached: 0, reasoning: 0 }

const combined = (a: Tokens, b: Tokens, combine: (a: number, b: number) => number): Tokens => ({
  input: combine(a.input, b.input),
  output: combine(a.output, b.output),
  cached: combine(a.cached, b.cached),
  reasoning: combine(a.reasoning, b.reasoning)
})

const sum = (a: Tokens, b: Tokens): Tokens => combined(a, b, (x, y) => x + y)
/** What was added. A total that was reset adds nothing. */
const added = (now: Tokens, before: Tokens): Tokens => combined(now, before, (x, y) => Math.max(0, x - y))

const count = (object: JsonObject, name: string): number => countOf(object[name]) ?? 0

/** Tokens as the model service counts them. The input includes cached tokens. */
const tokensOf = (usage: JsonObject): Tokens => {
  const cached = count(usage, "cache_read_input_tokens")
  return {
    input: count(usage, "input_tokens") + cached + count(usage, "cache_creation_input_tokens"),
    output: count(usage, "output_tokens"),
    cached,
    reasoning: count(objectOf(usage["output_tokens_details"]), "thinking_tokens")
  }
}

/** Tokens and cost of all models. */
const ofModels = (models: JsonObject): { readonly tokens: Tokens; readonly cost: number } => {
  let [tokens, cost] = [none, 0]
  for (const model of Object.values(models).filter(isJsonObject)) {
    const cached = count(model, "cacheReadInputTokens")
    const input = count(model, "inputTokens") + cached + count(model, "cacheCreationInputTokens")
    const [output, reasoning] = [count(model, "outputTokens"), count(model, "thinkingTokens")]
    tokens = sum(tokens, { input, output, cached, reasoning })
    cost += costOf(model["costUSD"]) ?? 0
  }
  return { tokens, cost }
}

const costOf = (value: unknown): number | undefined =>
  typeof value === "number" && Number.isFinite(value) && value >= 0 ? value : undefined

export class ClaudeUsage {
  readonly #isResumed: boolean
  /** Of all results so far. */
  #total = none
  #turns = 0
  #cost: number | undefined
  #hasResult = false
  /** Of all models of the process, as the last result had it. */
  #ofProcess = none
  /** Since the last result. */
  #current = none
  #currentTurns = 0
  #lastChildMessage: string | undefined

  constructor(isResumed: boolean) {
    this.#isResumed = isResumed
  }

  /** Follows a frame of the stream. Returns the usage so far if the frame ends a reply. */
  followFrame(event: JsonObject, ofSubAgent: boolean): Usage | undefined {
    switch (event["type"]) {
      case "message_start":
        this.#current = sum(this.#current, {
          ...tokensOf(objectOf(objectOf(event["message"])["usage"])),
          output: 0,
          reasoning: 0
        })
        return undefined
      case "message_delta":
        this.#current = sum(this.#current, {
          ...none,
          output: count(objectOf(event["usage"]), "output_tokens")
        })
        if (!ofSubAgent) this.#currentTurns++
        return this.#soFar
      default:
        return undefined
    }
  }

  /** Follows a message of a sub-agent, which is not streamed. Its blocks repeat the usage. Returns the usage so far if the message is new. */
  followChild(message: JsonObject): Usage | undefined {
    const id = textOf(message["id"])
    if (id === undefined || id === this.#lastChildMessage) return undefined
    this.#lastChildMessage = id
    this.#current = sum(this.#current, { ...tokensOf(objectOf(message["usage"])), reasoning: 0 })
    return this.#soFar
  }

  get #soFar(): Usage {
    const { cached, input, output, reasoning } = sum(this.#total, this.#current)
    return {
      inputTokens: input,
      outputTokens: output,
      cachedInputTokens: cached,
      // Only results have it.
      ...(this.#hasResult ? { reasoningTokens: reasoning } : {}),
      turns: this.#turns + this.#currentTurns,
      ...defined({ costUsd: this.#cost })
    }
  }

  /** Usage of the run after a `result`. */
  endTurn(result: JsonObject): Usage {
    this.#total = sum(this.#total, this.#ofTurn(result))
    this.#turns += count(result, "num_turns")
    this.#current = none
    this.#currentTurns = 0
    this.#hasResult = true
    return this.#soFar
  }

  #ofTurn(result: JsonObject): Tokens {
    const ofAgent = tokensOf(objectOf(result["usage"]))
    const since = result["model_usage_since_last_result"]
    if (isJsonObject(since)) {
      const { cost, tokens } = ofModels(since)
      this.#cost = (this.#cost ?? 0) + cost
      return tokens
    }
    // The cost of a resumed conversation includes earlier runs, and cannot be separated.
    if (this.#isResumed) return ofAgent
    this.#cost = costOf(result["total_cost_usd"]) ?? this.#cost
    const models = objectOf(result["modelUsage"])
    if (Object.keys(models).length === 0) return ofAgent
    const { tokens: process } = ofModels(models)
    const turn = added(process, this.#ofProcess)
    this.#ofProcess = process
    // An older program does not count the reasoning of a model.
    return { ...turn, reasoning: Math.max(turn.reasoning, ofAgent.reasoning) }
  }
}
