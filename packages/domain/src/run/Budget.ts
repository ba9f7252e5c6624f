/**
 * Limits of a run: its budget and its timeout, and which limits apply where several are set. Pure.
 *
 * *Guarantees:* a limit that its agent cannot count is found before a run starts, so no limit is silently without effect.
 */
import { Schema } from "effect"

/** Milliseconds of a limit of a run: 1 s to 24 h. */
export const RunDuration = Schema.Int.check(Schema.isBetween({ minimum: 1_000, maximum: 86_400_000 }))
const limit = Schema.optionalKey(Schema.Int.check(Schema.isGreaterThanOrEqualTo(1)))

/** Limits of a run. At 80 % of a limit the run gets a warning; at 100 % it fails. */
export const Budget = Schema.Struct({
  /** Input and output tokens, counted by the runtime. */
  tokens: limit,
  /** Replies of the model. */
  turns: limit,
  /** Milliseconds from the start of the runtime, including the time that approvals are pending, without pauses. 1 s to 24 h. */
  wallMs: Schema.optionalKey(RunDuration)
}).annotate({ identifier: "Budget" })
export type Budget = typeof Budget.Type

const requested = { ...Budget.fields, costUsd: Schema.optionalKey(Schema.Never) }
const isOtherName = Schema.isPattern(/^(?!(?:tokens|turns|wallMs|costUsd)$)/u)

/**
 * A budget in a request. A limit of the cost, a mistyped name and a limit of a later version are refused: without that, the run would start
 * without the limit.
 */
export const RequestedBudget: Schema.Codec<Budget> = Schema.StructWithRest(Schema.Struct(requested), [
  Schema.Record(Schema.String.check(isOtherName), Schema.Never)
]).annotate({ identifier: "RequestedBudget" })
export type RequestedBudget = Budget

/** Changed limits in a request. Absent fields do not change, and `null` removes a limit. */
export const ChangedLimits = Schema.Struct({
  budget: Schema.optionalKey(Schema.NullOr(RequestedBudget)),
  timeoutMs: Schema.optionalKey(Schema.NullOr(RunDuration))
})

/** A limit that only the runtime can count. */
export const CountedLimit = Schema.Literals(["tokens", "turns"])
export type CountedLimit = typeof CountedLimit.Type

/** Limits that need a count of the runtime and do not have it. */
export const uncountedLimits = (
  budget: Budget | undefined,
  counts: ReadonlyArray<CountedLimit>
): ReadonlyArray<CountedLimit> =>
  CountedLimit.literals.filter((limit) => budget?.[limit] !== undefined && !counts.includes(limit))

/** Why a limit is refused, as a sentence. */
export const uncountedMessage = (label: string, limit: CountedLimit): string =>
  `${label} does not report its ${limit} while it works, so they can't be limited. Use wallMs or timeoutMs.`

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
  a.timeoutMs === b.timeoutMs &&
  (["tokens", "turns", "wallMs"] as const).every((name) => a.budget?.[name] === b.budget?.[name])
