/** What a run has used: its tokens and its cost, next to their budget, with a mark on a cost that is an estimate. */
import type { Budget } from "@corral/domain/run/Budget"
import type { Usage } from "@corral/domain/run/Run"
import { costText, countText } from "@corral/domain/run/UsageText"
import { limitTexts } from "../composer/TurnLimits.tsx"
import { bilingual, useLanguage, useMessages } from "../text/Language.tsx"

export const runUsageMessages = bilingual(
  {
    tokens: (n: string) => `${n} tokens`,
    estimated: "estimated",
    estimatedHint:
      "Computed from the tokens and a list of prices. The agent's program does not report its cost."
  },
  {
    tokens: (n: string) => `${n} 个 token`,
    estimated: "估算",
    estimatedHint: "根据 token 数和价目表计算得出。智能体程序不报告费用。"
  }
)

interface RunUsageProps {
  /** What the run has used so far. */
  readonly usage: Usage | undefined
  readonly budget: Budget | undefined
}

/** Parts of a line: cost, tokens, replies and time. What has a budget is next to it. Nothing for a run without use and without budget. */
export const RunUsage = ({ budget = {}, usage = {} }: RunUsageProps) => {
  const messages = useMessages(runUsageMessages)
  const { language } = useLanguage()
  const { costSource, costUsd, inputTokens = 0, outputTokens = 0 } = usage
  const { costUsd: most, ...others } = budget
  const tokens = inputTokens + outputTokens
  const [cost] =
    most === undefined
      ? costUsd === undefined
        ? []
        : [costText(costUsd)]
      : limitTexts({ budget: { costUsd: most } }, language, usage)
  const isEstimated = costUsd !== undefined && costSource === "estimated"
  return (
    <>
      {cost !== undefined && (
        <span title={isEstimated ? messages.estimatedHint : undefined}>
          {cost}
          {isEstimated && ` ${messages.estimated}`}
        </span>
      )}
      {tokens > 0 && budget.tokens === undefined && <span>{messages.tokens(countText(tokens))}</span>}
      {limitTexts({ budget: others }, language, usage).map((text) => (
        <span key={text}>{text}</span>
      ))}
    </>
  )
}

/** The cost of a run where there is little space: an estimate has a sign, whose meaning is its title. */
export const RunCost = ({ usage }: Pick<RunUsageProps, "usage">) => {
  const messages = useMessages(runUsageMessages)
  if (usage?.costUsd === undefined) return null
  if (usage.costSource !== "estimated") return <span>{costText(usage.costUsd)}</span>
  return (
    <span title={messages.estimatedHint}>
      <span aria-hidden="true">≈ </span>
      {costText(usage.costUsd)}
      <span className="hidden"> {messages.estimated}</span>
    </span>
  )
}
