/**
 * Typed text as the answer to one question. Plain and synchronous.
 *
 * Guarantees: a text is an option only if it names exactly one option: by number, id or label.
 */
import { answerIssues } from "@corral/domain/input/AnswerCheck"
import type { AnswerValue, Question } from "@corral/domain/input/InputRequest"
import { otherNumber } from "./QuestionLines.ts"

export type ReadAnswer = { readonly value: AnswerValue } | { readonly problem: string }

/** The value, or why it does not fit the question. */
export const checked = (question: Question, value: AnswerValue): ReadAnswer => {
  const request = { kind: "question", title: "", questions: [question] } as const
  const [issue] = answerIssues(request, { answers: { [question.id]: value } })
  return issue === undefined ? { value } : { problem: issue.message }
}

/** Id of the option that the text names: its number, its id or its label. `#2` is always a number. */
export const optionNamed = (
  { options = [] }: Question,
  typed: string
): { readonly id: string } | { readonly problem: string } => {
  const text = typed.trim()
  const [, number] = /^#?(\d{1,3})$/u.exec(text) ?? []
  const numbered = number === undefined ? undefined : options[Number(number) - 1]
  const named = options.filter(({ id, label }) => id === text || label === text)
  const found = new Set([...(numbered === undefined ? [] : [numbered]), ...named])
  const [option, another] = found
  if (option === undefined) return { problem: "There is no such option." }
  return another === undefined
    ? { id: option.id }
    : { problem: "More than one option has this name. Use its number with a #, such as '#2'." }
}

/** Numbers of options, as `2` or `1,3`. `undefined`: it is something else. */
export const optionNumbers = (line: string): ReadonlyArray<number> | undefined => {
  const parts = line.trim().split(/[\s,]+/u)
  return parts.every((part) => /^\d{1,3}$/u.test(part)) ? parts.map(Number) : undefined
}

const YES = /^(?:y|yes|true)$/iu
const NO = /^(?:n|no|false)$/iu

/** A text of the person: instead of an option, or as the answer itself. */
export const readText = (question: Question, text: string): ReadAnswer => {
  switch (question.kind) {
    case "choice":
      return checked(question, question.multiple === true ? [{ other: text }] : { other: text })
    case "number":
      return text.trim() === "" || !Number.isFinite(Number(text))
        ? { problem: "Answer with a number." }
        : checked(question, Number(text))
    case "boolean": {
      const typed = text.trim()
      if (YES.test(typed)) return { value: true }
      return NO.test(typed) ? { value: false } : { problem: "Answer with yes or no." }
    }
    case "text":
      return checked(question, text)
  }
}

export interface ChosenOptions {
  readonly ids: ReadonlyArray<string>
  /** Whether the person also writes a text. */
  readonly isOther: boolean
}

/** Options by their numbers. */
export const chooseOptions = (
  question: Question,
  numbers: ReadonlyArray<number>
): ChosenOptions | { readonly problem: string } => {
  const { multiple, options = [] } = question
  if (numbers.length > 1 && multiple !== true) return { problem: "Choose one option." }
  const other = otherNumber(question)
  const ids: Array<string> = []
  for (const number of numbers) {
    if (number === other) continue
    const option = options[number - 1]
    if (option === undefined) return { problem: "There is no such option." }
    ids.push(option.id)
  }
  return { ids, isOther: other !== undefined && numbers.includes(other) }
}

/** Value of chosen options and a text. */
export const choiceValue = (
  { multiple }: Question,
  ids: ReadonlyArray<string>,
  other?: string
): AnswerValue => {
  const chosen = [...ids, ...(other === undefined ? [] : [{ other }])]
  const [first] = chosen
  return multiple === true || chosen.length > 1 || first === undefined ? chosen : first
}
