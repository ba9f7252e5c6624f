/** UI text of the limits of a turn, and the limits as a text. */
import type { RunLimits } from "@corral/domain/run/Budget"
import type { Usage } from "@corral/domain/run/Run"
import { formatLimit } from "../text/Duration.ts"
import { bilingual, type Language } from "../text/Language.tsx"

export const limitMessages = bilingual(
  {
    limits: "Limits",
    none: "No limits",
    hint: "The turn stops at the first limit that it reaches. Leave empty to use the agent's limit.",
    defaultsHint: "Each turn of the agent stops at the first limit that it reaches. Empty: no limit.",
    uncounted: (agent: string) => `${agent} does not count these while it works.`,
    tokens: "Tokens",
    turns: "Replies of the model",
    wall: "Minutes",
    active: "Active minutes",
    use: "Use these limits",
    reset: "Agent's limits",
    change: "Limits…",
    save: "Save",
    saved: "For messages that are sent from now on.",
    tokensOf: (n: string) => `${n} tokens`,
    turnsOf: (n: string) => `${n} replies`,
    activeOf: (time: string) => `${time} active`,
    used: (used: string, limit: string) => `${used} of ${limit}`
  },
  {
    limits: "限额",
    none: "无限额",
    hint: "此轮达到任一限额时即停止。留空则使用智能体的限额。",
    defaultsHint: "智能体的每一轮达到任一限额时即停止。留空表示不限。",
    uncounted: (agent: string) => `${agent} 在工作期间不统计这些数值。`,
    tokens: "Token 数",
    turns: "模型回复次数",
    wall: "分钟",
    active: "工作分钟",
    use: "使用这些限额",
    reset: "智能体的限额",
    change: "限额…",
    save: "保存",
    saved: "对此后发送的消息生效。",
    tokensOf: (n: string) => `${n} 个 token`,
    turnsOf: (n: string) => `${n} 次回复`,
    activeOf: (time: string) => `工作 ${time}`,
    used: (used: string, limit: string) => `${used} / ${limit}`
  }
)

const grouped = (n: number): string => n.toLocaleString("en")

/** Each limit, with what a run has used of it. */
export const limitTexts = (
  { budget = {}, timeoutMs }: RunLimits,
  language: Language,
  usage: Usage = {}
): ReadonlyArray<string> => {
  const messages = limitMessages[language]
  const { tokens, turns, wallMs } = budget
  const { inputTokens, outputTokens, turns: replies } = usage
  const isCounted = inputTokens !== undefined || outputTokens !== undefined
  const count = (limit: number, used: number | undefined): string =>
    used === undefined ? grouped(limit) : messages.used(grouped(used), grouped(limit))
  const usedTokens = isCounted ? (inputTokens ?? 0) + (outputTokens ?? 0) : undefined
  return [
    ...(tokens === undefined ? [] : [messages.tokensOf(count(tokens, usedTokens))]),
    ...(turns === undefined ? [] : [messages.turnsOf(count(turns, replies))]),
    ...(wallMs === undefined ? [] : [formatLimit(wallMs, language)]),
    ...(timeoutMs === undefined ? [] : [messages.activeOf(formatLimit(timeoutMs, language))])
  ]
}
