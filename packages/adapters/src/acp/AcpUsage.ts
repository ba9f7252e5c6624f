/**
 * Usage of a run, from the responses to prompts and the reports between them. Agents report tokens per turn, and cost per session.
 */
import type * as Acp from "@agentclientprotocol/sdk"
import type { Usage } from "@corral/domain/run/Run"
import { countOf, defined, objectOf } from "../text/Json.ts"
import type { PromptMeta, PromptResponse, QuotaTokens, TurnTokens } from "./AcpExtensions.ts"
import type { UnverifiedFields } from "./AcpSchema.ts"

const sum = (a: number | undefined, b: number | undefined): number | undefined =>
  a === undefined && b === undefined ? undefined : (a ?? 0) + (b ?? 0)

/** Our input includes cached tokens. Some agents count them separately, which shows in their total. */
const tokensOf = (usage: UnverifiedFields<TurnTokens>): Usage => {
  const input = countOf(usage.inputTokens)
  const output = countOf(usage.outputTokens)
  const total = countOf(usage.totalTokens)
  const read = countOf(usage.cachedReadTokens)
  const cached = (read ?? 0) + (countOf(usage.cachedWriteTokens) ?? 0)
  const isSeparate =
    cached > 0 && total !== undefined && total >= (input ?? 0) + (output ?? 0) + cached && input !== undefined
  return defined({
    inputTokens: isSeparate ? input + cached : input,
    outputTokens: output,
    cachedInputTokens: read,
    reasoningTokens: countOf(usage.thoughtTokens)
  })
}

/** Tokens of a turn: in `usage`, or in `_meta.quota` of agents that do not have that field. */
const tokensInResponse = ({ _meta, usage }: UnverifiedFields<PromptResponse>): Usage => {
  if (usage !== undefined) return tokensOf(objectOf(usage))
  const { quota, usage: ofTurn }: UnverifiedFields<PromptMeta> = objectOf(_meta)
  if (ofTurn !== undefined) return tokensOf(objectOf(ofTurn))
  const { token_count }: UnverifiedFields<PromptMeta["quota"]> = objectOf(quota)
  const { input_tokens, output_tokens }: UnverifiedFields<QuotaTokens> = objectOf(token_count)
  return defined({ inputTokens: countOf(input_tokens), outputTokens: countOf(output_tokens) })
}

const total = (a: Usage, b: Usage): Usage =>
  defined({
    inputTokens: sum(a.inputTokens, b.inputTokens),
    outputTokens: sum(a.outputTokens, b.outputTokens),
    cachedInputTokens: sum(a.cachedInputTokens, b.cachedInputTokens),
    reasoningTokens: sum(a.reasoningTokens, b.reasoningTokens)
  })

export class AcpUsage {
  /** The cost of a resumed session includes earlier runs, and cannot be separated. */
  readonly #isResumed: boolean
  /** Tokens of the turns that have ended. */
  #ended: Usage = {}
  /** Tokens of this turn that were reported before its response. */
  #current: Usage = {}
  #costUsd: number | undefined

  constructor(isResumed: boolean) {
    this.#isResumed = isResumed
  }

  get usage(): Usage | undefined {
    const usage = defined({ ...total(this.#ended, this.#current), costUsd: this.#costUsd })
    return Object.keys(usage).length === 0 ? undefined : usage
  }

  /** Reads the response to a prompt. If it has no tokens, those reported before it count. */
  endTurn(response: UnverifiedFields<PromptResponse>): void {
    const tokens = tokensInResponse(response)
    this.#ended = total(this.#ended, Object.keys(tokens).length === 0 ? this.#current : tokens)
    this.#current = {}
  }

  /** Adds the tokens of one model call. Returns false if there are none. */
  addTokens(usage: UnverifiedFields<TurnTokens>): boolean {
    const tokens = tokensOf(usage)
    this.#current = total(this.#current, tokens)
    return Object.keys(tokens).length > 0
  }

  /** Reads a `usage_update`. Returns false if the cost is not higher. Its `used` is the size of the context, not usage. */
  readCost(update: UnverifiedFields<Acp.UsageUpdate>): boolean {
    const { amount, currency }: UnverifiedFields<Acp.Cost> = objectOf(update.cost)
    if (this.#isResumed || currency !== "USD" || typeof amount !== "number" || !Number.isFinite(amount))
      return false
    if (amount < 0 || amount <= (this.#costUsd ?? -1)) return false
    this.#costUsd = amount
    return true
  }
}
