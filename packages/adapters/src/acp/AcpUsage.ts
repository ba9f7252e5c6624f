/**
 * Usage of a run, from the responses to prompts and the reports between them. Agents report tokens of a turn, of the session or of each model, and the
 * cost of the session.
 */
import type * as Acp from "@agentclientprotocol/sdk"
import type { Usage } from "@corral/domain/run/Run"
import type { ModelCall, UsageReport } from "@corral/domain/run/RuntimeAdapter"
import { arrayOf, countOf, defined, isJsonObject, objectOf, textOf } from "../text/Json.ts"
import type { AcpAgent } from "./AcpAgent.ts"
import type { ModelUsage, PromptMeta, PromptResponse, TokenCounts, UnverifiedFields } from "./AcpSchema.ts"

/** Tokens of calls, with those of their reasoning. */
interface Tokens extends ModelCall {
  readonly reasoningTokens?: number | undefined
}

const firstCount = (...values: ReadonlyArray<unknown>): number | undefined =>
  values.map(countOf).find((value) => value !== undefined)

/**
 * Our input includes cached tokens, and our output those of the reasoning. Some agents count them separately, which shows in their total.
 * `undefined` if there are no counts.
 */
const tokensOf = (counts: UnverifiedFields<TokenCounts>): Tokens | undefined => {
  const input = firstCount(counts.inputTokens, counts.input_tokens)
  const output = firstCount(counts.outputTokens, counts.output_tokens)
  const read = firstCount(counts.cachedReadTokens, counts.cachedInputTokens)
  const written = firstCount(
    counts.cachedWriteTokens,
    counts.cacheWriteInputTokens,
    counts.cacheCreationTokens
  )
  const reasoning = firstCount(counts.thoughtTokens, counts.reasoningOutputTokens, counts.reasoningTokens)
  if (input === undefined && output === undefined && read === undefined && reasoning === undefined)
    return undefined
  const cached = (read ?? 0) + (written ?? 0)
  const rest = (countOf(counts.totalTokens) ?? 0) - (input ?? 0) - (output ?? 0)
  const isReasoningApart =
    reasoning !== undefined && reasoning > 0 && (rest === reasoning || rest === cached + reasoning)
  const isCacheApart = cached > 0 && rest >= cached + (isReasoningApart ? reasoning : 0)
  return {
    inputTokens: (input ?? 0) + (isCacheApart ? cached : 0),
    outputTokens: (output ?? 0) + (isReasoningApart ? reasoning : 0),
    ...defined({
      cachedInputTokens: read,
      cacheWriteTokens: written,
      reasoningTokens: reasoning,
      count: countOf(counts.modelCalls)
    })
  }
}

/** Tokens by model, if the agent reports them. */
const tokensOfModels = ({ quota, usage }: UnverifiedFields<PromptMeta>): ReadonlyArray<Tokens> => {
  const { model_usage }: UnverifiedFields<PromptMeta["quota"]> = objectOf(quota)
  const { modelUsage }: UnverifiedFields<PromptMeta["usage"]> = objectOf(usage)
  const listed = arrayOf(model_usage).map((entry) => {
    const { model, token_count }: UnverifiedFields<ModelUsage> = objectOf(entry)
    return { model: textOf(model), counts: objectOf(token_count) }
  })
  const named = Object.entries(objectOf(modelUsage)).map(([model, counts]) => ({
    model,
    counts: objectOf(counts)
  }))
  return [...listed, ...named].flatMap(({ counts, model }) => {
    const tokens = tokensOf(counts)
    return tokens === undefined ? [] : [{ ...tokens, ...defined({ model }) }]
  })
}

/** Tokens in a response: in `usage`, or in `_meta` of agents that do not have that field. */
const tokensInResponse = ({ _meta, usage }: UnverifiedFields<PromptResponse>): Tokens | undefined => {
  const { quota, usage: inMeta }: UnverifiedFields<PromptMeta> = objectOf(_meta)
  const { token_count }: UnverifiedFields<PromptMeta["quota"]> = objectOf(quota)
  const counts = [usage, inMeta, token_count].find(isJsonObject)
  return counts === undefined ? undefined : tokensOf(counts)
}

const nothing: Tokens = { inputTokens: 0, outputTokens: 0 }

const names = ["cachedInputTokens", "cacheWriteTokens", "reasoningTokens"] as const

/** What two counts of tokens give together: `sign` 1, or what the first one has more. */
const combined = (a: Tokens, b: Tokens, sign: 1 | -1): Tokens => {
  const of = (x: number, y: number): number => Math.max(0, x + sign * y)
  const rest = names.map((name): [string, number | undefined] => [
    name,
    a[name] === undefined && b[name] === undefined ? undefined : of(a[name] ?? 0, b[name] ?? 0)
  ])
  return {
    ...defined({ model: a.model ?? b.model, count: a.count }),
    inputTokens: of(a.inputTokens, b.inputTokens),
    outputTokens: of(a.outputTokens, b.outputTokens),
    ...defined(Object.fromEntries(rest))
  }
}

const total = (all: ReadonlyArray<Tokens>): Tokens =>
  all.reduce((sum, each) => ({ ...combined(sum, each, 1), model: undefined, count: undefined }), nothing)

const callOf = (tokens: Tokens): ModelCall => {
  const { reasoningTokens: _, ...call } = tokens
  return call
}

type CountingAgent = Pick<AcpAgent, "countsLastCall" | "countsModels" | "countsSession" | "hasSubscription">

export class AcpUsage {
  readonly #agent: CountingAgent
  /** The cost of a resumed session includes earlier runs, and cannot be separated. */
  readonly #isResumed: boolean
  /** Tokens of the turns that have ended; `undefined` if none were reported. */
  #ended: Tokens | undefined
  /** Tokens of this turn that were reported before its response. */
  #current: Tokens | undefined
  /** Totals that the agent reported last, by model. */
  readonly #totals = new Map<string, Tokens>()
  #costUsd: number | undefined
  /** Reports about the context in this turn: some agents send one after each call to the model. */
  #contexts = 0
  readonly #toolCalls = new Set<string>()

  constructor(agent: CountingAgent, isResumed: boolean) {
    this.#agent = agent
    this.#isResumed = isResumed
  }

  get usage(): Usage | undefined {
    const tokens = [this.#ended, this.#current].filter((each) => each !== undefined)
    if (tokens.length === 0) return this.#costUsd === undefined ? undefined : { costUsd: this.#costUsd }
    const { cachedInputTokens, inputTokens, outputTokens, reasoningTokens } = total(tokens)
    return {
      inputTokens,
      outputTokens,
      ...defined({ cachedInputTokens, reasoningTokens, costUsd: this.#costUsd })
    }
  }

  /** Reads the response to a prompt. If it has no tokens, those reported before it count. Returns what it reports. */
  endTurn(response: UnverifiedFields<PromptResponse>): UsageReport | undefined {
    const current = this.#current
    this.#current = undefined
    const turn = this.#callsOfTurn(response)
    // As many calls to the model as can be seen: a long prompt costs more in one call.
    const count = Math.max(this.#contexts, this.#toolCalls.size + 1)
    this.#contexts = 0
    this.#toolCalls.clear()
    if (turn.length === 0) {
      if (current !== undefined) this.#ended = total([this.#ended ?? nothing, current])
      return undefined
    }
    this.#ended = total([this.#ended ?? nothing, ...turn])
    // Part of the calls: their price would look like that of the turn.
    if (this.#agent.countsLastCall === true) return this.#report([])
    return this.#report(turn.map((each) => ({ ...each, count: each.count ?? count })))
  }

  countToolCall(callId: string): void {
    this.#toolCalls.add(callId)
  }

  /** Calls of the turn, as far as the agent tells them apart. */
  #callsOfTurn(response: UnverifiedFields<PromptResponse>): ReadonlyArray<Tokens> {
    const models = tokensOfModels(objectOf(response._meta))
    const { countsModels = false, countsSession = false } = this.#agent
    // Totals of a resumed session may include earlier runs.
    if (countsModels && !this.#isResumed && models.length > 0)
      return models.map((each) => this.#sinceLast(each))
    const all = tokensInResponse(response)
    if (all === undefined) return []
    if (countsSession) return [this.#sinceLast(all)]
    const isWhole = !countsModels && models.length > 0 && total(models).inputTokens === all.inputTokens
    return isWhole ? models : [all]
  }

  #sinceLast(now: Tokens): Tokens {
    const key = now.model ?? ""
    const before = this.#totals.get(key) ?? nothing
    this.#totals.set(key, now)
    return combined(now, before, -1)
  }

  /** Adds the tokens of one model call. Returns `undefined` if there are none. */
  addTokens(counts: UnverifiedFields<TokenCounts>): UsageReport | undefined {
    const tokens = tokensOf(counts)
    if (tokens === undefined) return undefined
    this.#current = total([this.#current ?? nothing, tokens])
    return this.#report([tokens])
  }

  /** Reads a `usage_update`. Returns `undefined` if the cost is not higher. Its `used` is the size of the context, not usage. */
  readCost(update: UnverifiedFields<Acp.UsageUpdate>): UsageReport | undefined {
    this.#contexts++
    const { amount, currency }: UnverifiedFields<Acp.Cost> = objectOf(update.cost)
    if (this.#isResumed || currency !== "USD" || typeof amount !== "number" || !Number.isFinite(amount))
      return undefined
    // An agent that does not know the price reports 0.
    if (amount <= (this.#costUsd ?? 0)) return undefined
    this.#costUsd = amount
    return this.#report([])
  }

  #report(calls: ReadonlyArray<Tokens>): UsageReport {
    return {
      usage: this.usage ?? {},
      calls: calls.map(callOf),
      ...(this.#agent.hasSubscription === true ? { subscription: true } : {})
    }
  }
}
