/** What a run has used, as far as its runtime counts it. */
import type { Usage } from "@corral/domain/run/Run"
import { useMessages } from "../text/Language.tsx"
import { runMessages } from "./messages.ts"

export const UsageText = ({ usage }: { readonly usage: Usage }) => {
  const words = useMessages(runMessages)
  const { costUsd, inputTokens, outputTokens, turns } = usage
  const parts = [
    inputTokens !== undefined || outputTokens !== undefined
      ? words.tokens(inputTokens ?? 0, outputTokens ?? 0)
      : "",
    turns === undefined ? "" : words.turns(turns),
    costUsd === undefined ? "" : `$${costUsd.toFixed(costUsd < 1 ? 4 : 2)}`
  ]
  return <>{parts.filter((part) => part !== "").join(" · ")}</>
}
