/**
 * Limits of a run: its budget and its timeout, and which limits apply where several are set. Pure.
 *
 * *Guarantees:* a limit that its agent cannot count is found before a run starts, so no limit is silently without effect.
 */
import { Schema } from "effect"

/** Milliseconds of a limit of a run: 1 s to 24 h. */
export const RunDuration = Schema.Int.check(Schema.isBetween({ minimum: 1_000, maximum: 86_400_000 }))
const count = Schema.Int.check(Schema.isGreaterThanOrEqualTo(1))
const limit = Schema.optionalKey(count)

/** US dollars of a limit: from a millionth of a dollar to a million dollars. Parts of a millionth are rounded. */
export const CostUsd = Schema.Finite.check(Schema.isBetween({ minimum: 0.000_001, maximum: 1_000_000 }))
/** Costs are compared and added in millionths of a dollar. */
export const MICROS_PER_DOLLAR = 1_000_000
/** Tokens of a limit. */
export const TokenCount = count.check(Schema.isLessThanOrEqualTo(1_000_000_000_000))

/** Limits of a run. At 80 % of a limit the run gets a warning; at 100 % it fails. */
export const Budget = Schema.Struct({
  /** Input and output tokens, counted by the runtime. */
  tokens: limit,
  /** Replies of the model. */
  turns: limit,
  /** Milliseconds from the start of the runtime, including the time that approvals are pending, without pauses. 1 s to 24 h. */
  wallMs: Schema.optionalKey(RunDuration),
  /** US dollars: as the runtime reports them, or otherwise estimated from its tokens. */
  costUsd: Schema.optionalKey(CostUsd)
}).annotate({ identifier: "Budget" })
export type Budget = typeof Budget.Type

const isOtherName = Schema.isPattern(/^(?!(?:tokens|turns|wallMs|costUsd)$)/u)

/** A budget in a request. A mistyped name and a limit of a later version are refused: without that, the run would start without the limit. */
export const RequestedBudget: Schema.Codec<Budget> = Schema.StructWithRest(Schema.Struct(Budget.fields), [
  Schema.Record(Schema.String.check(isOtherName), Schema.Never)
]).annotate({ identifier: "RequestedBudget" })
export type RequestedBudget = Budget

/** Changed limits in a request. Absent fields do not change, and `null` removes a limit. */
export const ChangedLimits = Schema.Struct({
  budget: Schema.optionalKey(Schema.NullOr(RequestedBudget)),
  timeoutMs: Schema.optionalKey(Schema.NullOr(RunDuration))
})

/** What a runtime counts while it works, so that a budget can limit it. */
export const CountedLimit = Schema.Literals(["tokens", "turns", "cost"])
export type CountedLimit = typeof CountedLimit.Type

/** The limit of a budget that needs each count. */
const limitOfCount = { tokens: "tokens", turns: "turns", cost: "costUsd" } as const satisfies Record<
  CountedLimit,
  keyof Budget
>
/** A limit of a budget that only the runtime can count. */
export type CountedField = (typeof limitOfCount)[CountedLimit]

/** Limits that need a count of the runtime and do not have it. */
export const uncountedLimits = (
  budget: Budget | undefined,
  counts: ReadonlyArray<CountedLimit>
): ReadonlyArray<CountedField> =>
  CountedLimit.literals
    .filter((counted) => !counts.includes(counted))
    .map((counted) => limitOfCount[counted])
    .filter((field) => budget?.[field] !== undefined)

/** Why a limit is refused, as a sentence. */
export const uncountedMessage = (label: string, limit: CountedField): string =>
  limit === "costUsd"
    ? `${label} does not report its cost while it works, so it can't be limited. Use wallMs or timeoutMs.`
    : `${label} does not report its ${limit} while it works, so they can't be limited. Use wallMs or timeoutMs.`

/** The least whole use that is at least 80 % of a limit. Exact for safe integers. */
export const nearLimitFrom = (limit: number): number => limit - Math.floor(limit / 5)

/** An amount as limits compare it: a cost in whole millionths of a dollar. As fractions, 2.4 is less than 80 % of 3. */
export const comparedAmount = (limit: keyof Budget, value: number): number =>
  limit === "costUsd" ? Math.round(value * MICROS_PER_DOLLAR) : value

/** How far a limit is used: `near` from 80 % on, `reached` from 100 % on. */
export const limitProgressOf = (
  limit: keyof Budget,
  used: number,
  of: number
): "open" | "near" | "reached" => {
  const [amount, most] = [comparedAmount(limit, used), comparedAmount(limit, of)]
  return amount >= most ? "reached" : amount >= nearLimitFrom(most) ? "near" : "open"
}

/** Names of all limits of a budget. */
export const budgetLimits = ["tokens", "turns", "wallMs", "costUsd"] as const satisfies ReadonlyArray<
  keyof Budget
>

/** Limits of one turn, or the defaults of an agent. */
export interface RunLimits {
  readonly budget?: Budget | undefined
  readonly timeoutMs?: number | undefined
}

/** Limits of a turn: each limit is the turn's, otherwise the default. Absent fields are limited by the Edge only. */
export const limitsOfTurn = (
  turn: RunLimits,
  defaults: RunLimits
): { readonly budget?: Budget; readonly timeoutMs?: number } => {
  const budget: Budget = { ...defaults.budget, ...turn.budget }
  const timeoutMs = turn.timeoutMs ?? defaults.timeoutMs
  return {
    ...(Object.keys(budget).length === 0 ? {} : { budget }),
    ...(timeoutMs === undefined ? {} : { timeoutMs })
  }
}

/** Whether two turns have the same limits. */
export const hasSameLimits = (a: RunLimits, b: RunLimits): boolean =>
  a.timeoutMs === b.timeoutMs && budgetLimits.every((name) => a.budget?.[name] === b.budget?.[name])
