/** Form fields for the limits of a turn: tokens, replies, time and active time. A limit that the agent does not count can't be set. */
import type { Agent } from "@corral/domain/run/Agent"
import { type Budget, type CountedLimit, type RunLimits, uncountedLimits } from "@corral/domain/run/Budget"
import { useMessages } from "../text/Language.tsx"
import { Field, textIn } from "../ui/Field.tsx"
import { limitMessages } from "./limitTexts.ts"
import "./composer.css"

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

export const LimitFields = ({ agent, defaults = {}, hint, limits }: LimitFieldsProps) => {
  const messages = useMessages(limitMessages)
  const isCounted = (limit: CountedLimit) => agent === undefined || agent.counts?.includes(limit) === true
  const shown = (value: number | undefined, unit = 1) => (value === undefined ? "" : String(value / unit))
  const count = (name: CountedLimit) => (
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
