/** Tokens and costs of the steps of a run, sub-agents included. */
import type { Usage } from "@corral/domain/run/Run"
import { countOf, objectOf, type JsonObject } from "../text/Json.ts"

/** Adds one finished step. OpenCode counts cached tokens apart from the input. */
export const addStep = (usage: Usage, part: JsonObject): Usage => {
  const tokens = objectOf(part["tokens"])
  const cache = objectOf(tokens["cache"])
  const cached = countOf(cache["read"]) ?? 0
  const input = (countOf(tokens["input"]) ?? 0) + cached + (countOf(cache["write"]) ?? 0)
  const cost = part["cost"]
  return {
    inputTokens: (usage.inputTokens ?? 0) + input,
    outputTokens: (usage.outputTokens ?? 0) + (countOf(tokens["output"]) ?? 0),
    cachedInputTokens: (usage.cachedInputTokens ?? 0) + cached,
    reasoningTokens: (usage.reasoningTokens ?? 0) + (countOf(tokens["reasoning"]) ?? 0),
    turns: (usage.turns ?? 0) + 1,
    costUsd: (usage.costUsd ?? 0) + (typeof cost === "number" && Number.isFinite(cost) && cost > 0 ? cost : 0)
  }
}
