/** Token usage of a run, if its runtime reports it. */
import type { Usage } from "@corral/domain/run/Run"
import { useMessages } from "../text/Language.tsx"
import { runMessages } from "./messages.ts"

export const UsageText = ({ usage }: { readonly usage: Usage }) => {
  const messages = useMessages(runMessages)
  const { costUsd, inputTokens, outputTokens, turns } = usage
  const parts = [
    inputTokens !== undefined || outputTokens !== undefined
      ? messages.tokens(inputTokens ?? 0, outputTokens ?? 0)
      : "",
    turns === undefined ? "" : messages.turns(turns),
    costUsd === undefined ? "" : `$${costUsd.toFixed(costUsd < 1 ? 4 : 2)}`
  ]
  return <>{parts.filter((part) => part !== "").join(" · ")}</>
}
