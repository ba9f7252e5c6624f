/** Limits of a turn: their form fields, the chip that sets them for the next turn, and their texts. A limit that the agent does not count can't be set. */
import type { Agent } from "@corral/domain/run/Agent"
import { type CountedLimit, limitsOfTurn, type RunLimits, uncountedLimits } from "@corral/domain/run/Budget"
import { limitsFrom, type SetLimits } from "@corral/domain/run/LimitText"
import type { Usage } from "@corral/domain/run/Run"
import { costText } from "@corral/domain/run/UsageText"
import { formatLimit } from "../text/Duration.ts"
import { bilingual, type Language, useLanguage, useMessages } from "../text/Language.tsx"
import { Field, type FieldInput, numberIn } from "../ui/Field.tsx"
import { ChipForm } from "./Chip.tsx"
import "./composer.css"

export const limitMessages = bilingual(
  {
    limits: "Limits",
    none: "No limits",
    hint: "The turn stops at the first limit that it reaches. Leave empty to use the agent's limit.",
    defaultsHint: "Each turn of the agent stops at the first limit that it reaches. Empty: no limit.",
    uncounted: (agent: string) => `${agent} does not count these while it works.`,
    cost: "Cost in US dollars",
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
    cost: "费用（美元）",
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
  const { costUsd, tokens, turns, wallMs } = budget
  const { costUsd: spent, inputTokens, outputTokens, turns: replies } = usage
  const isCounted = inputTokens !== undefined || outputTokens !== undefined
  const count = (limit: number, used: number | undefined): string =>
    used === undefined ? grouped(limit) : messages.used(grouped(used), grouped(limit))
  const usedTokens = isCounted ? (inputTokens ?? 0) + (outputTokens ?? 0) : undefined
  return [
    ...(costUsd === undefined
      ? []
      : [spent === undefined ? costText(costUsd) : messages.used(costText(spent), costText(costUsd))]),
    ...(tokens === undefined ? [] : [messages.tokensOf(count(tokens, usedTokens))]),
    ...(turns === undefined ? [] : [messages.turnsOf(count(turns, replies))]),
    ...(wallMs === undefined ? [] : [formatLimit(wallMs, language)]),
    ...(timeoutMs === undefined ? [] : [messages.activeOf(formatLimit(timeoutMs, language))])
  ]
}

/** The limits without those that the agent does not count: they were set for another agent. */
export const limitsFor = (
  agent: Pick<Agent, "counts"> | undefined,
  { budget = {}, timeoutMs }: SetLimits
): SetLimits => {
  const uncounted: ReadonlyArray<string> =
    agent === undefined ? [] : uncountedLimits(budget, agent.counts ?? [])
  const counted = Object.entries(budget).filter(([name]) => !uncounted.includes(name))
  return {
    ...(counted.length === 0 ? {} : { budget: Object.fromEntries(counted) }),
    ...(timeoutMs === undefined ? {} : { timeoutMs })
  }
}

const MINUTE = 60_000
const countedLimits: ReadonlyArray<CountedLimit> = ["cost", "tokens", "turns"]

/** Limits of a submitted form. The browser has checked the numbers. */
export const limitsIn = (form: FormData): SetLimits => {
  const minutesIn = (name: string): number | undefined => {
    const minutes = numberIn(form, name)
    return minutes === undefined ? undefined : Math.round(minutes * MINUTE)
  }
  return limitsFrom({
    costUsd: numberIn(form, "cost"),
    tokens: numberIn(form, "tokens"),
    turns: numberIn(form, "turns"),
    wallMs: minutesIn("wall"),
    timeoutMs: minutesIn("active")
  })
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

/** Bounds of a cost: those of the Hub. */
const LEAST_USD = 0.000_001
const MOST_USD = 1_000_000

interface AmountProps extends FieldInput {
  readonly name: string
  readonly value: number | undefined
  readonly placeholder?: number | undefined
  readonly required?: boolean
  readonly disabled?: boolean
}

const shown = (value: number | undefined, unit = 1) => (value === undefined ? "" : String(value / unit))

/** Input of a cost in US dollars. */
export const CostInput = ({ placeholder, value, ...input }: AmountProps) => (
  <input
    {...input}
    type="number"
    min={LEAST_USD}
    max={MOST_USD}
    step="any"
    inputMode="decimal"
    defaultValue={shown(value)}
    placeholder={shown(placeholder)}
  />
)

/** Input of a number of tokens or replies. */
export const CountInput = ({ placeholder, value, ...input }: AmountProps) => (
  <input
    {...input}
    type="number"
    min={1}
    step={1}
    max={Number.MAX_SAFE_INTEGER}
    defaultValue={shown(value)}
    placeholder={shown(placeholder)}
  />
)

/** Form fields for the limits of a turn: cost, tokens, replies, time and active time. A limit that the agent does not count can't be set. */
export const LimitFields = ({ agent, defaults = {}, hint, limits }: LimitFieldsProps) => {
  const messages = useMessages(limitMessages)
  const counts = agent === undefined ? countedLimits : (agent.counts ?? [])
  const amount = (name: CountedLimit, field: "costUsd" | "tokens" | "turns") => {
    const Input = name === "cost" ? CostInput : CountInput
    return (
      <Field label={messages[name]}>
        <Input
          name={name}
          disabled={!counts.includes(name)}
          value={limits.budget?.[field]}
          placeholder={defaults.budget?.[field]}
        />
      </Field>
    )
  }
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
  return (
    <fieldset className="limit-fields">
      <legend className="quiet">{hint}</legend>
      {amount("cost", "costUsd")}
      {amount("tokens", "tokens")}
      {amount("turns", "turns")}
      {minutes("wall", limits.budget?.wallMs, defaults.budget?.wallMs)}
      {minutes("active", limits.timeoutMs, defaults.timeoutMs)}
      {countedLimits.some((name) => !counts.includes(name)) && (
        <p className="quiet">{messages.uncounted(agent?.label ?? "")}</p>
      )}
    </fieldset>
  )
}

interface LimitsChipProps {
  /** The agent as its device offers it. */
  readonly agent: Pick<Agent, "counts" | "label"> | undefined
  readonly limits: SetLimits
  /** Limits of the agent; absent for an agent that is not added yet. */
  readonly defaults?: SetLimits
  readonly onChoose: (limits: SetLimits) => void
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
