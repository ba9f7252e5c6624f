/** Limits of the next turn: those of the agent, or others. */
import { Popover } from "@base-ui/react/popover"
import { limitsOfTurn } from "@corral/domain/run/Budget"
import type { Agent } from "@corral/domain/run/Agent"
import { useState } from "react"
import { useLanguage, useMessages } from "../text/Language.tsx"
import { focusFirstField } from "../ui/InitialFocus.ts"
import { ChipFace, chipClass } from "./ChipMenu.tsx"
import { LimitFields, limitsIn, type TurnLimits } from "./LimitFields.tsx"
import { limitMessages, limitTexts } from "./limitTexts.ts"
import "./composer.css"

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
  const [open, setOpen] = useState(false)
  const texts = limitTexts(limitsOfTurn(limits, defaults ?? {}), language)
  const text = texts.length === 0 ? messages.none : texts.join(" · ")
  const choose = (chosen: TurnLimits) => {
    onChoose(chosen)
    setOpen(false)
  }
  return (
    <Popover.Root open={open} onOpenChange={setOpen}>
      <Popover.Trigger
        className={`${chipClass(true)} ${texts.length === 0 ? "chip-bare" : ""}`}
        aria-label={`${messages.limits}: ${text}`}
      >
        <ChipFace icon="clock" label={messages.limits} text={text} />
      </Popover.Trigger>
      <Popover.Portal>
        <Popover.Positioner className="menu-positioner" sideOffset={6} align="start">
          <Popover.Popup className="menu chip-popup" aria-label={messages.limits} initialFocus={false}>
            <form
              className="form"
              ref={focusFirstField}
              onSubmit={(event) => {
                event.preventDefault()
                event.stopPropagation()
                choose(limitsIn(new FormData(event.currentTarget)))
              }}
            >
              <LimitFields
                agent={agent}
                limits={limits}
                {...(defaults === undefined ? {} : { defaults })}
                hint={defaults === undefined ? messages.defaultsHint : messages.hint}
              />
              <div className="form-actions">
                <button type="submit" className="button primary">
                  {messages.use}
                </button>
                <button type="button" className="button" onClick={() => choose({})}>
                  {defaults === undefined ? messages.none : messages.reset}
                </button>
              </div>
            </form>
          </Popover.Popup>
        </Popover.Positioner>
      </Popover.Portal>
    </Popover.Root>
  )
}
