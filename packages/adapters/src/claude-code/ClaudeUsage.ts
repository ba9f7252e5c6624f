/**
 * Usage of one run of Claude Code, with its sub-agents.
 *
 * A `result` counts each model since the result before it. An older program counts them since the start of its process, with the conversation
 * that was resumed; then a resumed run counts only the agent's own turn, and has no cost. Between results, the frames of the stream and the
 * messages of sub-agents are counted, and their calls have no figure of the program yet.
 *
 * Guarantees: nothing is counted twice. Only the agent's own replies count as turns, as in the result. A cost is the program's: not one that it guesses
 * for a model whose price it does not know, and not that of a subscription, which is not paid.
 */
import type { Usage } from "@corral/domain/run/Run"
import type { ModelCall, UsageReport } from "@corral/domain/run/RuntimeAdapter"
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

/** Tokens of a call to the model service, which counts cached tokens apart from the input. */
const callOf = (message: JsonObject): ModelCall => {
  const usage = objectOf(message["usage"])
  const cachedInputTokens = count(usage, "cache_read_input_tokens")
  const cacheWriteTokens = count(usage, "cache_creation_input_tokens")
  return {
    inputTokens: count(usage, "input_tokens") + cachedInputTokens + cacheWriteTokens,
    outputTokens: count(usage, "output_tokens"),
    cachedInputTokens,
    cacheWriteTokens,
    longCacheWriteTokens: count(objectOf(usage["cache_creation"]), "ephemeral_1h_input_tokens"),
    ...defined({ model: textOf(message["model"]) })
  }
}

const tokensOf = (usage: JsonObject): Tokens => {
  const { cachedInputTokens = 0, inputTokens, outputTokens } = callOf({ usage })
  const reasoning = count(objectOf(usage["output_tokens_details"]), "thinking_tokens")
  return { input: inputTokens, output: outputTokens, cached: cachedInputTokens, reasoning }
}

/** Tokens and cost of all models. A cost of which a part is a guess is unknown. */
const ofModels = (models: JsonObject): { readonly tokens: Tokens; readonly cost: number | undefined } => {
  let tokens = none
  let cost: number | undefined = 0
  for (const model of Object.values(models).filter(isJsonObject)) {
    const cached = count(model, "cacheReadInputTokens")
    const input = count(model, "inputTokens") + cached + count(model, "cacheCreationInputTokens")
    const [output, reasoning] = [count(model, "outputTokens"), count(model, "thinkingTokens")]
    tokens = sum(tokens, { input, output, cached, reasoning })
    cost =
      cost === undefined || model["costBasis"] === "unknown"
        ? undefined
        : cost + (costOf(model["costUSD"]) ?? 0)
  }
  return { tokens, cost }
}

const costOf = (value: unknown): number | undefined =>
  typeof value === "number" && Number.isFinite(value) && value >= 0 ? value : undefined

export class ClaudeUsage {
  readonly #isResumed: boolean
  /** Whether a subscription pays. */
  #hasSubscription = false
  /** Of all results so far. */
  #total = none
  #turns = 0
  /** `unknown`: the program has guessed a part of it. */
  #cost: number | "unknown" | undefined
  #hasResult = false
  /** Of all models of the process, as the last result had it. */
  #ofProcess = none
  /** Since the last result. */
  #current = none
  #currentTurns = 0
  #lastChildMessage: string | undefined
  /** Calls in progress, by the call of their sub-agent. */
  readonly #open = new Map<string, ModelCall>()
  /** Calls that were not reported yet. */
  #calls: Array<ModelCall> = []

  constructor(isResumed: boolean) {
    this.#isResumed = isResumed
  }

  /** Reads the account that the program is signed in with. */
  readAccount(account: unknown): void {
    if (!isJsonObject(account)) return
    const { apiKeySource, subscriptionType } = account
    const hasKey = typeof apiKeySource === "string" && apiKeySource !== "none"
    this.#hasSubscription = !hasKey && typeof subscriptionType === "string" && subscriptionType !== ""
  }

  /** Follows a frame of the stream. Returns the usage so far if the frame ends a reply. `parent`: the call of the sub-agent that it is of. */
  followFrame(event: JsonObject, parent: string | undefined): UsageReport | undefined {
    switch (event["type"]) {
      case "message_start":
        this.#start(callOf(objectOf(event["message"])), parent)
        return undefined
      case "message_delta":
        this.#end(count(objectOf(event["usage"]), "output_tokens"), parent)
        if (parent === undefined) this.#currentTurns++
        return this.#report()
      default:
        return undefined
    }
  }

  /** A call whose stream broke never ends, and its input was used. */
  #start(call: ModelCall, parent = ""): void {
    const { cachedInputTokens = 0, inputTokens } = call
    this.#current = sum(this.#current, { ...none, input: inputTokens, cached: cachedInputTokens })
    const broken = this.#open.get(parent)
    if (broken !== undefined) this.#calls.push({ ...broken, outputTokens: 0 })
    this.#open.set(parent, call)
  }

  #end(outputTokens: number, parent = ""): void {
    this.#current = sum(this.#current, { ...none, output: outputTokens })
    const call = this.#open.get(parent) ?? { inputTokens: 0 }
    this.#open.delete(parent)
    this.#calls.push({ ...call, outputTokens })
  }

  /** Follows a message of a sub-agent, which is not streamed. Its blocks repeat the usage. Returns the usage so far if the message is new. */
  followChild(message: JsonObject): UsageReport | undefined {
    const id = textOf(message["id"])
    if (id === undefined || id === this.#lastChildMessage) return undefined
    this.#lastChildMessage = id
    this.#current = sum(this.#current, { ...tokensOf(objectOf(message["usage"])), reasoning: 0 })
    this.#calls.push(callOf(message))
    return this.#report()
  }

  #report(): UsageReport {
    const calls = this.#calls
    this.#calls = []
    return { usage: this.#soFar, calls, ...this.#payment }
  }

  get #payment(): Pick<UsageReport, "subscription"> {
    return this.#hasSubscription ? { subscription: true } : {}
  }

  get #soFar(): Usage {
    const { cached, input, output, reasoning } = sum(this.#total, this.#current)
    return {
      inputTokens: input,
      outputTokens: output,
      cachedInputTokens: cached,
      // Only results have it.
      ...(this.#hasResult ? { reasoningTokens: reasoning } : {}),
      turns: this.#turns + this.#currentTurns
    }
  }

  /** Usage of the run after a `result`. */
  endTurn(result: JsonObject): UsageReport {
    this.#total = sum(this.#total, this.#ofTurn(result))
    this.#turns += count(result, "num_turns")
    this.#current = none
    this.#currentTurns = 0
    this.#hasResult = true
    this.#open.clear()
    const calls = this.#calls
    this.#calls = []
    const cost = this.#hasSubscription || this.#cost === "unknown" ? undefined : this.#cost
    // Without a figure of the program, what the result has more than the frames is priced as a call, too.
    return {
      usage: { ...this.#soFar, ...defined({ costUsd: cost }) },
      ...(calls.length === 0 ? {} : { calls }),
      ...this.#payment
    }
  }

  #ofTurn(result: JsonObject): Tokens {
    const ofAgent = tokensOf(objectOf(result["usage"]))
    const since = result["model_usage_since_last_result"]
    if (isJsonObject(since)) {
      const { cost, tokens } = ofModels(since)
      this.#cost = cost === undefined || this.#cost === "unknown" ? "unknown" : (this.#cost ?? 0) + cost
      return tokens
    }
    // The cost of a resumed conversation includes earlier runs, and cannot be separated.
    if (this.#isResumed) return ofAgent
    const models = objectOf(result["modelUsage"])
    const { cost, tokens: process } = ofModels(models)
    this.#cost = cost === undefined ? "unknown" : (costOf(result["total_cost_usd"]) ?? this.#cost)
    if (Object.keys(models).length === 0) return ofAgent
    const turn = added(process, this.#ofProcess)
    this.#ofProcess = process
    // An older program does not count the reasoning of a model.
    return { ...turn, reasoning: Math.max(turn.reasoning, ofAgent.reasoning) }
  }
}
