/** Form of a question: a field for each part, and the buttons that answer or skip it. Nothing is chosen in advance. */
import type { HubInput } from "@corral/domain/hub-api/HubRun"
import type { Question } from "@corral/domain/input/InputRequest"
import { type FormEvent, type ReactNode, type RefObject, useId, useState } from "react"
import { visibleLine, visibleText } from "../markdown/visible.ts"
import { useMessages } from "../text/Language.tsx"
import { useMedia } from "../ui/useMedia.ts"
import {
  type AnswerProblem,
  type FormDraft,
  answersOf,
  draftOf,
  optionIds,
  problemOf,
  valueOf,
  withOption,
  withOther,
  withText
} from "./FormDraft.ts"
import { inputMessages } from "./messages.ts"
import type { AnswerMutation } from "./Answer.tsx"
import "./input.css"
import "../approval/approval.css"

interface QuestionFieldProps {
  readonly question: Question
  readonly draft: FormDraft
  readonly onChange: (draft: FormDraft) => void
  readonly problem: AnswerProblem | undefined
  /** Whether the options have digits. */
  readonly hasDigits: boolean
  /** Whether the question can receive secrets. */
  readonly canSeal: boolean
}

/** Options that a digit chooses. */
const DIGITS = 9

interface OptionProps {
  readonly question: Question
  readonly name: string
  readonly isChosen: boolean
  readonly onChoose: () => void
  readonly option?: string
  readonly digit?: number | undefined
  readonly children: ReactNode
}

const Option = ({ children, digit, isChosen, name, onChoose, option, question }: OptionProps) => (
  <label className="option">
    <input
      type={question.multiple === true ? "checkbox" : "radio"}
      name={name}
      checked={isChosen}
      {...(option === undefined ? {} : { "data-option": option })}
      onChange={onChoose}
    />
    <span className="option-text">{children}</span>
    {digit !== undefined && (
      <kbd className="key" aria-hidden="true">
        {digit}
      </kbd>
    )}
  </label>
)

const OtherOption = ({ draft, name, onChange, question }: QuestionFieldProps & { readonly name: string }) => {
  const messages = useMessages(inputMessages)
  const { isOther, text } = draftOf(draft, question)
  return (
    <>
      <Option
        {...{ name, question }}
        isChosen={isOther}
        onChoose={() => onChange(withOther(draft, question, question.multiple !== true || !isOther))}
      >
        <span className="option-label">{messages.other}</span>
      </Option>
      {isOther && (
        <textarea
          className="option-other"
          rows={2}
          aria-label={messages.otherField(visibleLine(question.header ?? question.text, 100))}
          value={text}
          onChange={({ target }) => onChange(withText(draft, question, target.value))}
        />
      )}
    </>
  )
}

const Options = (props: QuestionFieldProps) => {
  const { draft, hasDigits, onChange, question } = props
  const messages = useMessages(inputMessages)
  const name = useId()
  const { chosen } = draftOf(draft, question)
  const named = new Map(question.options?.map((option) => [option.id, option]))
  return (
    <div className="options">
      {optionIds(question).map((id, at) => {
        const { description, label } = named.get(id) ?? {}
        const word = question.kind === "boolean" ? (id === "yes" ? messages.yes : messages.no) : (label ?? id)
        return (
          <Option
            key={id}
            {...{ name, question }}
            option={id}
            digit={hasDigits && at < DIGITS ? at + 1 : undefined}
            isChosen={chosen.includes(id)}
            onChoose={() => onChange(withOption(draft, question, id))}
          >
            <bdi className="option-label">{visibleText(word)}</bdi>
            {description !== undefined && <bdi className="option-hint">{visibleText(description)}</bdi>}
          </Option>
        )
      })}
      {question.allowsOther === true && question.kind === "choice" && <OtherOption {...props} name={name} />}
    </div>
  )
}

/** Formats of JSON Schema for which a browser has a keyboard. */
const inputTypes: Readonly<Record<string, string>> = { email: "email", uri: "url", date: "date" }

const TextInput = ({ draft, label, onChange, question }: QuestionFieldProps & { readonly label: string }) => {
  const { text } = draftOf(draft, question)
  const shared = {
    "aria-labelledby": label,
    value: text,
    onChange: ({ target }: { readonly target: { readonly value: string } }) =>
      onChange(withText(draft, question, target.value))
  }
  if (question.secret === true)
    return <input {...shared} type="password" autoComplete="off" spellCheck={false} />
  if (question.kind === "number")
    return (
      <input {...shared} inputMode={question.integer === true ? "numeric" : "decimal"} autoComplete="off" />
    )
  const type = inputTypes[question.format ?? ""]
  return type === undefined ? (
    <textarea {...shared} rows={text.includes("\n") || text.length > 80 ? 4 : 1} />
  ) : (
    <input {...shared} type={type} autoComplete="off" />
  )
}

/** Field of one question: options in the program's order, or a text, a number or a secret. Nothing is chosen in advance. */
const QuestionField = (props: QuestionFieldProps) => {
  const { canSeal, problem, question } = props
  const messages = useMessages(inputMessages)
  const id = useId()
  const isChoice = question.kind === "choice" || question.kind === "boolean"
  const notes = [
    ...(question.kind === "choice" && question.multiple === true ? [messages.chooseSome] : []),
    ...(question.required === false ? [messages.optional] : [])
  ]
  return (
    <fieldset className="question" data-question={question.id}>
      <legend id={id}>
        {question.header !== undefined && (
          <span className="question-head">{visibleLine(question.header, 60)}</span>
        )}
        <bdi>{visibleText(question.text)}</bdi>
        {notes.length > 0 && <span className="question-note"> {notes.join(" · ")}</span>}
      </legend>
      {isChoice ? (
        <Options {...props} />
      ) : question.secret === true && !canSeal ? (
        <p className="question-problem">{messages.noKey}</p>
      ) : (
        <TextInput {...props} label={id} />
      )}
      {question.secret === true && canSeal && <p className="question-note">{messages.secretHint}</p>}
      {problem !== undefined && (
        <p className="question-problem" role="alert">
          {problem === "range" || problem === "length"
            ? messages.problems[problem](question)
            : messages.problems[problem]}
        </p>
      )}
    </fieldset>
  )
}

/** Declines a question, a form or a link. */
export const SkipButton = ({ answer }: { readonly answer: AnswerMutation }) => (
  <button
    type="button"
    className="button"
    disabled={answer.isPending || answer.isSuccess}
    onClick={() => answer.mutate({ decline: true })}
  >
    {useMessages(inputMessages).skip}
  </button>
)

interface QuestionFormProps {
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

export const QuestionForm = ({ answer, digitsIn, draft, form, input, onChange }: QuestionFormProps) => {
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
