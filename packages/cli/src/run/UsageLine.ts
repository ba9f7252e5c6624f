/** What a run has used, on a line: tokens, and the cost, with a word if it is an estimate. Pure. */
import type { Usage } from "@corral/domain/run/Run"
import { costText } from "@corral/domain/run/UsageText"

/** `1200 tokens in, 340 out, $0.0042 estimated`. Empty without usage. */
export const usageLine = ({ costSource, costUsd, inputTokens, outputTokens }: Usage = {}): string =>
  [
    ...(inputTokens === undefined ? [] : [`${inputTokens} tokens in`]),
    ...(outputTokens === undefined ? [] : [`${outputTokens} out`]),
    ...(costUsd === undefined
      ? []
      : [`${costText(costUsd)}${costSource === "estimated" ? " estimated" : ""}`])
  ].join(", ")
