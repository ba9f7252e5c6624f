/** Limits of the next turn: those of the agent, or others. */
import { limitsOfTurn } from "@corral/domain/run/Budget"
import type { Agent } from "@corral/domain/run/Agent"
import { useLanguage, useMessages } from "../text/Language.tsx"
import { ChipForm } from "./ChipForm.tsx"
import { LimitFields, limitsIn, type TurnLimits } from "./LimitFields.tsx"
import { limitMessages, limitTexts } from "./limitTexts.ts"

interface LimitsChipProps {
  /** The agent as its device offers it. */
  readonly agent: Pick<Agent, "counts" | "label"> | undefined
  readonly limits: TurnLimits
  /** Limits of the agent; absent for an agent that is not added yet. */
  readonly defaults?: TurnLimits
  readonly onChoose: (limits: TurnLimits) => void
}

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
