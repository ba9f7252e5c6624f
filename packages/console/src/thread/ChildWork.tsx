/** Work of a sub-agent below the call that started it: one line with its newest step, and all of it on request. */
import { type ReactNode, useState } from "react"
import { visibleLine } from "../markdown/visible.ts"
import { useMessages } from "../text/Language.tsx"
import { Icon } from "../ui/Icon.tsx"
import { kindOf, stateOf, targetOf } from "./ActionKind.ts"
import { threadMessages } from "./messages.ts"
import type { ActionPart, WorkPart } from "./WorkPart.ts"
import "./work.css"

interface Props {
  readonly call: ActionPart
  readonly parts: ReadonlyArray<WorkPart>
  readonly isOver: boolean
  /** The rows of some parts. */
  readonly children: (parts: ReadonlyArray<WorkPart>) => ReactNode
}

/** Parts of one sub-agent that are in the page: the newest ones. */
const SHOWN = 200

/** Whether a part waits for a person. */
const waits = (part: WorkPart): boolean =>
  part.kind === "action"
    ? stateOf(part) === "waiting"
    : part.block.kind === "input" && part.block.state === "pending"

const lineOf = (part: WorkPart | undefined, verbs: (typeof threadMessages)["en"]["verbs"]): string => {
  if (part?.kind === "action") {
    const tense = stateOf(part) === "started" ? "doing" : "done"
    return `${verbs[kindOf(part)][tense]} ${targetOf(part)}`.trimStart()
  }
  return part?.block.kind === "message" ? (part.block.body.text.trimEnd().split("\n").at(-1) ?? "") : ""
}

export const ChildWork = ({ call: { tool }, children, isOver, parts }: Props) => {
  const messages = useMessages(threadMessages)
  const [isOpen, setOpen] = useState(false)
  const isLive = tool?.status === "started" && !isOver
  const line = isLive && !isOpen ? visibleLine(lineOf(parts.at(-1), messages.verbs), 120) : ""
  const isWaiting = parts.some(waits)
  const hidden = Math.max(0, parts.length - SHOWN)
  return (
    <div className="child-work">
      <button type="button" className="fold-line" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        <Icon name={isOpen ? "fold" : "unfold"} />
        <span>
          {messages.childSteps(parts.length)}
          {isWaiting && (
            <strong className="child-waits">
              {" · "}
              <span aria-hidden="true">◆ </span>
              {messages.actionStates.waiting}
            </strong>
          )}
          {line !== "" && (
            <>
              {" · "}
              <bdi>{line}</bdi>
            </>
          )}
        </span>
      </button>
      {isOpen && (
        <div className="child-rows">
          {hidden > 0 && <p className="quiet">{messages.earlierHidden(hidden)}</p>}
          {children(parts.slice(hidden))}
        </div>
      )}
    </div>
  )
}
