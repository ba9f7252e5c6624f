/** Field of one question: options in the program's order, or a text, a number or a secret. Nothing is chosen in advance. */
import type { Question } from "@corral/domain/input/InputRequest"
import { type ReactNode, useId } from "react"
import { visibleLine, visibleText } from "../markdown/visible.ts"
import { useMessages } from "../text/Language.tsx"
import { type FormDraft, draftOf, optionIds, withOption, withOther, withText } from "./FormDraft.ts"
import type { AnswerProblem } from "./AnswerProblem.ts"
import { inputMessages } from "./messages.ts"
import "./input.css"

interface Props {
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

const OtherOption = ({ draft, name, onChange, question }: Props & { readonly name: string }) => {
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

const Options = (props: Props) => {
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

const TextInput = ({ draft, label, onChange, question }: Props & { readonly label: string }) => {
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

export const QuestionField = (props: Props) => {
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
