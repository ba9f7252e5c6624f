/** Button that sends the text of the composer as the answer to the open question. Nothing but a click on it does that. */
import { leaveForText } from "../approval/leaveForText.ts"
import { textAnswer } from "../input/FormDraft.ts"
import type { TextQuestion } from "../input/openTextQuestion.ts"
import { inputMessages } from "../input/messages.ts"
import { useAnswer } from "../input/useAnswer.ts"
import { visibleLine } from "../markdown/visible.ts"
import { useMessages } from "../text/Language.tsx"
import { useRef } from "react"
import { type Draft, useDraftReadiness } from "./Draft.ts"
import { AnswerNote } from "../input/AnswerNote.tsx"
import "./composer.css"

interface Props extends TextQuestion {
  readonly draft: Draft
}

export const AnswerWithText = ({ draft, input, question }: Props) => {
  const messages = useMessages(inputMessages)
  const sent = useRef("")
  const answer = useAnswer(input, { onSent: () => draft.removeSent(sent.current, []) })
  const isReady = useDraftReadiness(draft) === "ready" && draft.files.list().length === 0
  const send = () => {
    sent.current = draft.text()
    answer.mutate({ answers: { [question.id]: textAnswer(question, sent.current.trim()) } })
  }
  if (!isReady) return null
  return (
    <>
      <button
        type="button"
        className="button composer-button composer-answer"
        title={messages.withThisTextHint(visibleLine(question.text, 200))}
        disabled={answer.isPending}
        onClick={send}
        onKeyDown={leaveForText}
      >
        {messages.withThisText}
      </button>
      <AnswerNote error={answer.error} />
    </>
  )
}
