/** Steps of an agent as a list that changes in place. A long list shows the steps around the current one. */
import type { StepsBlock } from "@corral/domain/run/RunBlock"
import type { Step } from "@corral/domain/run/Work"
import { useState } from "react"
import { visibleText } from "../markdown/visible.ts"
import { useMessages } from "../text/Language.tsx"
import { threadMessages } from "./messages.ts"
import "../markdown/markdown.css"
import "./work.css"

const marks: Readonly<Record<Step["state"], string>> = {
  pending: "○",
  in_progress: "●",
  completed: "✓",
  cancelled: "■"
}

/** Steps that are shown of a long list, and how many of them come before the current one. */
const SHOWN = 10
const BEFORE = 3

/** The step in progress, else the first that is open. */
export const currentStep = (steps: ReadonlyArray<Step>): number => {
  const inProgress = steps.findIndex(({ state }) => state === "in_progress")
  return inProgress === -1 ? steps.findIndex(({ state }) => state === "pending") : inProgress
}

export const doneSteps = (steps: ReadonlyArray<Step>): number =>
  steps.filter(({ state }) => state === "completed").length

const shownFrom = (steps: ReadonlyArray<Step>): number => {
  const current = currentStep(steps)
  const end = current === -1 ? steps.length : current
  return Math.max(0, Math.min(end - BEFORE, steps.length - SHOWN))
}

export const StepList = ({ block: { steps } }: { readonly block: StepsBlock }) => {
  const messages = useMessages(threadMessages)
  const [isOpen, setOpen] = useState(false)
  const isLong = steps.length > SHOWN
  const from = isLong && !isOpen ? shownFrom(steps) : 0
  const shown = isLong && !isOpen ? steps.slice(from, from + SHOWN) : steps
  if (steps.length === 0) return null
  return (
    <section className="step-list">
      <h3 className="step-list-head">{messages.steps(doneSteps(steps), steps.length)}</h3>
      <ol start={from + 1}>
        {shown.map(({ id, state, text }) => (
          <li key={id} className={`step step-${state}`}>
            <span className="step-mark" aria-hidden="true">
              {marks[state]}
            </span>
            <bdi>{visibleText(text)}</bdi>
            <span className="hidden"> {messages.stepStates[state]}</span>
          </li>
        ))}
      </ol>
      {isLong && (
        <button
          type="button"
          className="clipped-more"
          aria-expanded={isOpen}
          onClick={() => setOpen(!isOpen)}
        >
          {isOpen ? messages.showLess : messages.allSteps(steps.length)}
        </button>
      )}
    </section>
  )
}
