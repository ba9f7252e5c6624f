/** Limits of a turn: their form fields, the chip that sets them for the next turn, and their texts. A limit that the agent does not count can't be set. */
import type { Agent } from "@corral/domain/run/Agent"
import {
  type Budget,
  type CountedLimit,
  limitsOfTurn,
  type RunLimits,
  uncountedLimits
} from "@corral/domain/run/Budget"
import type { Usage } from "@corral/domain/run/Run"
import { formatLimit } from "../text/Duration.ts"
import { bilingual, type Language, useLanguage, useMessages } from "../text/Language.tsx"
import { Field, textIn } from "../ui/Field.tsx"
import { ChipForm } from "./Chip.tsx"
import "./composer.css"

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

/** Limits that are set. */
export interface TurnLimits {
  readonly budget?: Budget
  readonly timeoutMs?: number
}

/** The limits without those that the agent does not count: they were set for another agent. */
export const limitsFor = (
  agent: Pick<Agent, "counts"> | undefined,
  { budget = {}, timeoutMs }: TurnLimits
): TurnLimits => {
  const uncounted: ReadonlyArray<string> =
    agent === undefined ? [] : uncountedLimits(budget, agent.counts ?? [])
  const counted = Object.entries(budget).filter(([name]) => !uncounted.includes(name))
  return {
    ...(counted.length === 0 ? {} : { budget: Object.fromEntries(counted) }),
    ...(timeoutMs === undefined ? {} : { timeoutMs })
  }
}

const MINUTE = 60_000

/** Limits of a submitted form. The browser has checked the numbers. */
export const limitsIn = (form: FormData): TurnLimits => {
  const numberIn = (name: string, unit = 1): number | undefined => {
    const text = textIn(form, name)
    return text === "" ? undefined : Math.round(Number(text) * unit)
  }
  const [tokens, turns] = [numberIn("tokens"), numberIn("turns")]
  const [wallMs, timeoutMs] = [numberIn("wall", MINUTE), numberIn("active", MINUTE)]
  const budget: Budget = {
    ...(tokens === undefined ? {} : { tokens }),
    ...(turns === undefined ? {} : { turns }),
    ...(wallMs === undefined ? {} : { wallMs })
  }
  return {
    ...(Object.keys(budget).length === 0 ? {} : { budget }),
    ...(timeoutMs === undefined ? {} : { timeoutMs })
  }
}

interface LimitFieldsProps {
  /** The agent that the limits are for; its counts are unknown if its device has an older version. */
  readonly agent: Pick<Agent, "counts" | "label"> | undefined
  readonly limits: RunLimits
  /** Limits that hold where a field is empty. */
  readonly defaults?: RunLimits
  readonly hint: string
}

/** A second, the shortest limit of the Hub, in minutes. A longer least would block the form of an agent that has a shorter limit. */
const LEAST_MINUTES = 1_000 / MINUTE
const MOST_MINUTES = 1_440

/** Form fields for the limits of a turn: tokens, replies, time and active time. A limit that the agent does not count can't be set. */
export const LimitFields = ({ agent, defaults = {}, hint, limits }: LimitFieldsProps) => {
  const messages = useMessages(limitMessages)
  const isCounted = (limit: CountedLimit) => agent === undefined || agent.counts?.includes(limit) === true
  const shown = (value: number | undefined, unit = 1) => (value === undefined ? "" : String(value / unit))
  const count = (name: "tokens" | "turns") => (
    <Field label={messages[name]}>
      <input
        name={name}
        type="number"
        min={1}
        step={1}
        max={Number.MAX_SAFE_INTEGER}
        disabled={!isCounted(name)}
        defaultValue={shown(limits.budget?.[name])}
        placeholder={shown(defaults.budget?.[name])}
      />
    </Field>
  )
  const minutes = (name: "wall" | "active", value: number | undefined, usual: number | undefined) => (
    <Field label={messages[name]}>
      <input
        name={name}
        type="number"
        min={LEAST_MINUTES}
        max={MOST_MINUTES}
        step="any"
        defaultValue={shown(value, MINUTE)}
        placeholder={shown(usual, MINUTE)}
      />
    </Field>
  )
  const isAnyUncounted = !isCounted("tokens") || !isCounted("turns")
  return (
    <fieldset className="limit-fields">
      <legend className="quiet">{hint}</legend>
      {count("tokens")}
      {count("turns")}
      {minutes("wall", limits.budget?.wallMs, defaults.budget?.wallMs)}
      {minutes("active", limits.timeoutMs, defaults.timeoutMs)}
      {isAnyUncounted && <p className="quiet">{messages.uncounted(agent?.label ?? "")}</p>}
    </fieldset>
  )
}

interface LimitsChipProps {
  /** The agent as its device offers it. */
  readonly agent: Pick<Agent, "counts" | "label"> | undefined
  readonly limits: TurnLimits
  /** Limits of the agent; absent for an agent that is not added yet. */
  readonly defaults?: TurnLimits
  readonly onChoose: (limits: TurnLimits) => void
}

/** Limits of the next turn: those of the agent, or others. */
export const LimitsChip = ({ agent, defaults, limits, onChoose }: LimitsChipProps) => {
  const messages = useMessages(limitMessages)
  const { language } = useLanguage()
  const texts = limitTexts(limitsOfTurn(limits, defaults ?? {}), language)
  return (
    <ChipForm
      label={messages.limits}
      icon="clock"
      text={texts.length === 0 ? messages.none : texts.join(" · ")}
      isBare={texts.length === 0}
      useLabel={messages.use}
      resetLabel={defaults === undefined ? messages.none : messages.reset}
      onSubmit={(form) => onChoose(limitsIn(form))}
      onReset={() => onChoose({})}
    >
      <LimitFields
        agent={agent}
        limits={limits}
        {...(defaults === undefined ? {} : { defaults })}
        hint={defaults === undefined ? messages.defaultsHint : messages.hint}
      />
    </ChipForm>
  )
}
