/** Form of a question: a field for each part, and the buttons that answer or skip it. */
import type { HubInput } from "@corral/domain/hub-api/HubRun"
import { type FormEvent, type RefObject, useState } from "react"
import { useMessages } from "../text/Language.tsx"
import { useMedia } from "../ui/useMedia.ts"
import { type FormDraft, valueOf, answersOf, draftOf } from "./FormDraft.ts"
import { type AnswerProblem, problemOf } from "./AnswerProblem.ts"
import { QuestionField } from "./QuestionField.tsx"
import type { AnswerMutation } from "./useAnswer.ts"
import { SkipButton } from "./SkipButton.tsx"
import { inputMessages } from "./messages.ts"
import "../approval/approval.css"
import "./input.css"

interface Props {
  readonly input: HubInput
  readonly draft: FormDraft
  readonly onChange: (draft: FormDraft) => void
  readonly answer: AnswerMutation
  readonly form: RefObject<HTMLFormElement | null>
  /** The question that digits choose in. */
  readonly digitsIn: string | undefined
}

const problemsOf = ({ questions = [] }: HubInput, draft: FormDraft): ReadonlyMap<string, AnswerProblem> =>
  new Map(
    questions.flatMap((question) => {
      const written = draftOf(draft, question)
      const problem = problemOf(question, valueOf(question, written), written.isOther)
      return problem === undefined ? [] : [[question.id, problem] as const]
    })
  )

export const QuestionForm = ({ answer, digitsIn, draft, form, input, onChange }: Props) => {
  const messages = useMessages(inputMessages)
  const isTouch = useMedia("(pointer: coarse)")
  // What is missing is said once the person has tried to answer.
  const [isChecked, setChecked] = useState(false)
  const { questions = [], sealingKey } = input
  const problems = problemsOf(input, draft)
  const isBusy = answer.isPending || answer.isSuccess
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    if (isBusy) return
    setChecked(true)
    const [first] = problems.keys()
    if (first === undefined) answer.mutate({ answers: answersOf(questions, draft) })
    else
      event.currentTarget
        .querySelector<HTMLElement>(`[data-question="${CSS.escape(first)}"] :is(input, textarea)`)
        ?.focus()
  }
  return (
    <form ref={form} className="input-form" onSubmit={submit} noValidate>
      <div className="dock-request questions">
        {questions.map((question) => (
          <QuestionField
            key={question.id}
            {...{ draft, onChange, question }}
            problem={isChecked ? problems.get(question.id) : undefined}
            hasDigits={question.id === digitsIn}
            canSeal={sealingKey !== undefined}
          />
        ))}
      </div>
      <div className="decision-buttons input-buttons">
        <button type="submit" className="button primary" disabled={isBusy}>
          {messages.answer}
        </button>
        <SkipButton answer={answer} />
        {digitsIn !== undefined && !isTouch && <span className="input-keys">{messages.keysHint}</span>}
      </div>
    </form>
  )
}
