/** Neighbouring reads and searches on one line. What failed among them stays visible. */
import { memo, useState } from "react"
import { useMessages } from "../text/Language.tsx"
import { Icon } from "../ui/Icon.tsx"
import { ActionCard } from "./ActionCard.tsx"
import { stateOf } from "./ActionKind.ts"
import type { RunPlace } from "./RunPlace.ts"
import { threadMessages } from "./messages.ts"
import type { ActionPart } from "./WorkPart.ts"
import { countsOf } from "./WorkRow.ts"
import "./work.css"

interface Props {
  readonly actions: ReadonlyArray<ActionPart>
  readonly place: RunPlace
  /** Text for calls whose end can't be heard. */
  readonly silence: string | undefined
}

const isSame = (before: Props, after: Props): boolean =>
  before.place === after.place &&
  before.silence === after.silence &&
  before.actions.length === after.actions.length &&
  before.actions.every((action, at) => action === after.actions[at])

export const ExploredGroup = memo(({ actions, place, silence }: Props) => {
  const messages = useMessages(threadMessages)
  const [open, setOpen] = useState(false)
  const states = actions.map(stateOf)
  const isRunning = states.includes("started") && silence === undefined
  const shown = open ? actions : actions.filter((_, at) => states[at] === "failed" || states[at] === "denied")
  return (
    <div className="explored">
      <button type="button" className="fold-line" aria-expanded={open} onClick={() => setOpen(!open)}>
        <Icon name="search" />
        <span>{isRunning ? messages.exploring : messages.explored(countsOf(actions))}</span>
        <Icon name={open ? "fold" : "unfold"} />
      </button>
      {shown.length > 0 && (
        <div className="explored-actions">
          {shown.map((action) => (
            <ActionCard key={action.seq} part={action} place={place} silence={silence} />
          ))}
        </div>
      )}
    </div>
  )
}, isSame)
