/** Limits of a turn at the command line: flags, and the limits as text. */
import type { RunLimits } from "@corral/domain/run/Budget"
import { costUsdIn, durationMs, limitsFrom, type SetLimits } from "@corral/domain/run/LimitText"
import type { Usage } from "@corral/domain/run/Run"
import { costText } from "@corral/domain/run/UsageText"
import { Option, Schema } from "effect"
import { Flag } from "effect/cli"
import { DurationText } from "../Flags.ts"

const Count = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }))

const CostText = Schema.String.check(
  Schema.makeFilter((text: string) => costUsdIn(text) !== undefined, {
    expected: "an amount in US dollars like 2.50, up to 1000000"
  })
)

export const limitFlags = {
  budgetTokens: Flag.Int("budget-tokens").pipe(
    Flag.withDescription("Stop after this many input and output tokens"),
    Flag.withSchema(Count),
    Flag.optional
  ),
  budgetTurns: Flag.Int("budget-turns").pipe(
    Flag.withDescription("Stop after this many replies of the model"),
    Flag.withSchema(Count),
    Flag.optional
  ),
  budgetCost: Flag.String("budget-cost").pipe(
    Flag.withDescription("Stop at this cost in US dollars, such as 2.50"),
    Flag.withSchema(CostText),
    Flag.optional
  ),
  budgetTime: Flag.String("budget-time").pipe(
    Flag.withDescription(
      "Stop after this time, such as 10m. Time spent waiting for approvals and answers counts"
    ),
    Flag.withSchema(DurationText),
    Flag.optional
  ),
  timeout: Flag.Int("timeout").pipe(
    Flag.withDescription(
      "Active time in seconds. Time spent waiting for approvals and answers does not count"
    ),
    Flag.withSchema(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 86_400 }))),
    Flag.optional
  )
}

export interface LimitFlags {
  readonly budgetTokens: Option.Option<number>
  readonly budgetTurns: Option.Option<number>
  readonly budgetCost: Option.Option<string>
  readonly budgetTime: Option.Option<string>
  readonly timeout: Option.Option<number>
}

export const limitsOfFlags = (flags: LimitFlags): SetLimits => {
  const cost = Option.getOrUndefined(flags.budgetCost)
  const wall = Option.getOrUndefined(flags.budgetTime)
  const seconds = Option.getOrUndefined(flags.timeout)
  return limitsFrom({
    tokens: Option.getOrUndefined(flags.budgetTokens),
    turns: Option.getOrUndefined(flags.budgetTurns),
    costUsd: cost === undefined ? undefined : costUsdIn(cost),
    wallMs: wall === undefined ? undefined : durationMs(wall),
    timeoutMs: seconds === undefined ? undefined : seconds * 1_000
  })
}

const withSeparators = (value: number): string => value.toLocaleString("en")

const durationText = (ms: number): string => {
  const seconds = Math.round(ms / 1_000)
  if (seconds % 3_600 === 0) return `${seconds / 3_600} h`
  return seconds % 60 === 0 ? `${seconds / 60} min` : `${withSeparators(seconds)} s`
}

/** The limits, with what a run has used of them. Empty without limits. */
export const limitsText = ({ budget = {}, timeoutMs }: RunLimits, usage: Usage = {}): string => {
  const { costUsd, tokens, turns, wallMs } = budget
  const { costUsd: spent, inputTokens, outputTokens, turns: replies } = usage
  const count = (limit: number, used: number | undefined): string =>
    used === undefined ? withSeparators(limit) : `${withSeparators(used)} of ${withSeparators(limit)}`
  const isCounted = inputTokens !== undefined || outputTokens !== undefined
  return [
    ...(tokens === undefined
      ? []
      : [`${count(tokens, isCounted ? (inputTokens ?? 0) + (outputTokens ?? 0) : undefined)} tokens`]),
    ...(turns === undefined ? [] : [`${count(turns, replies)} turns`]),
    ...(costUsd === undefined
      ? []
      : [spent === undefined ? costText(costUsd) : `${costText(spent)} of ${costText(costUsd)}`]),
    ...(wallMs === undefined ? [] : [durationText(wallMs)]),
    ...(timeoutMs === undefined ? [] : [`${durationText(timeoutMs)} of active time`])
  ].join(", ")
}
