/** A question or a plan in the thread: what was asked, what was answered, and what became of it. An open one is answered below the thread. */
import type { InputBlock } from "@corral/domain/run/RunBlock"
import { useState } from "react"
import { visibleLine, visibleText } from "../markdown/visible.ts"
import { useMessages } from "../text/Language.tsx"
import type { RunPlace } from "./RunPlace.ts"
import { Icon } from "../ui/Icon.tsx"
import { recordedTexts } from "../input/recordedTexts.ts"
import { InputOutcome } from "../input/InputOutcome.tsx"
import { PlanView } from "../input/PlanView.tsx"
import { inputMessages } from "../input/messages.ts"
import "./thread.css"
import "../input/input.css"

interface Props {
  readonly block: InputBlock
  readonly place: RunPlace
}

const Answers = ({ block: { request, resolution } }: Props) => {
  const messages = useMessages(inputMessages)
  const { questions = [] } = request
  if (resolution?.answers === undefined || questions.length === 0) return null
  return (
    <dl className="record-answers">
      {questions.map((question) => (
        <div key={question.id}>
          {(questions.length > 1 || question.text !== request.title) && (
            <dt>
              <bdi>{visibleText(question.text)}</bdi>
            </dt>
          )}
          {recordedTexts(question, resolution.answers?.[question.id], messages).map((text, at) => (
            <dd key={at}>
              <bdi>{text}</bdi>
            </dd>
          ))}
        </div>
      ))}
    </dl>
  )
}

const PlanFold = ({ plan }: { readonly plan: string }) => {
  const messages = useMessages(inputMessages)
  const [isOpen, setOpen] = useState(false)
  return (
    <>
      <button type="button" className="fold-line" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        <Icon name={isOpen ? "fold" : "unfold"} />
        <span>{isOpen ? messages.hidePlan : messages.showPlan}</span>
      </button>
      {isOpen && <PlanView plan={plan} />}
    </>
  )
}

export const InputRecord = (props: Props) => {
  const { block, place } = props
  const messages = useMessages(inputMessages)
  const { request, resolution, state } = block
  const isOpen = state === "pending"
  const head = (
    <h3 className="record-head">
      <span aria-hidden="true">{isOpen ? "◆" : state === "answered" ? "✓" : "○"} </span>
      <span className="input-kind">{messages.kinds[request.kind]}</span>
      <bdi>{visibleLine(request.title, 400)}</bdi>
    </h3>
  )
  if (isOpen) return <section className="record-open">{head}</section>
  return (
    <section className="record">
      {head}
      <Answers {...props} />
      {request.plan !== undefined && <PlanFold plan={request.plan} />}
      {resolution?.comment !== undefined && resolution.comment !== "" && (
        <blockquote className="record-comment">{visibleText(resolution.comment)}</blockquote>
      )}
      {resolution !== undefined && (
        <p className="record-note">
          <InputOutcome kind={request.kind} resolution={resolution} projectId={place.projectId} />
        </p>
      )}
    </section>
  )
}
