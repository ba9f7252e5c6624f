/**
 * Questions as buttons or fields of a card, and what a person entered there as an answer. Pure.
 *
 * Guarantees: an answer contains what the person chose or wrote, and nothing else. Values are places of options, so that a card contains no id
 * of the program.
 * Does not: ask for secrets. A chat stores what is written.
 */
import { answerIssues } from "@corral/domain/input/AnswerCheck"
import type {
  AnswerValue,
  InputAnswer,
  OtherAnswer,
  Question,
  RequestedInput
} from "@corral/domain/input/InputRequest"
import {
  type CardField,
  type FormValues,
  type LocalizedText,
  sameInAllLanguages
} from "../platform/ChatPlatform.ts"
import { answerText } from "./AnswerText.ts"

/** Options that are buttons. Longer lists are a field. */
const MAX_OPTION_BUTTONS = 8

export const yesNo: readonly [LocalizedText, LocalizedText] = [
  { en: "Yes", zh: "是" },
  { en: "No", zh: "否" }
]

/** A text of the agent without code, paths and secrets. */
export const agentWords = (text: string, at: number): LocalizedText => {
  const words = answerText(text)
  return words === undefined ? { en: `Option ${at + 1}`, zh: `选项 ${at + 1}` } : sameInAllLanguages(words)
}

/** Whether a chat can show the request with a way to answer it. */
export const isAnswerableInChat = ({ kind, questions = [] }: RequestedInput): boolean =>
  kind === "plan" ||
  (kind === "question" && questions.length > 0 && questions.every(({ secret }) => secret !== true))

/** Labels of the buttons that answer the request with one click; `undefined` if it needs fields. */
export const optionButtons = ({
  kind,
  questions = []
}: RequestedInput): ReadonlyArray<LocalizedText> | undefined => {
  const [only, another] = questions
  if (kind !== "question" || only === undefined || another !== undefined) return undefined
  if (only.kind === "boolean") return yesNo
  const { multiple, options = [] } = only
  if (only.kind !== "choice" || multiple === true || options.length > MAX_OPTION_BUTTONS) return undefined
  return options.map(({ label }, at) => agentWords(label, at))
}

/** The only question of a request, if a text of the person can answer it. */
export const textQuestion = ({ kind, questions = [] }: RequestedInput): Question | undefined => {
  const [only, another] = questions
  if (kind !== "question" || only === undefined || another !== undefined || only.secret === true)
    return undefined
  return only.kind === "text" || (only.kind === "choice" && only.allowsOther === true) ? only : undefined
}

const nameOf = (at: number): string => `q${at}`
const otherNameOf = (at: number): string => `q${at}-other`

const other: LocalizedText = { en: "Something else", zh: "其他" }

const fieldsOf = (question: Question, at: number): ReadonlyArray<CardField> => {
  const { header, kind, multiple = false, options = [], text } = question
  const label = agentWords(header ?? text, at)
  const name = nameOf(at)
  if (kind === "text" || kind === "number") return [{ _tag: "Text", name, label }]
  const labels = kind === "boolean" ? yesNo : options.map((option, place) => agentWords(option.label, place))
  const listed = labels.map((each, place) => ({ value: String(place), label: each }))
  return [
    { _tag: "Select", name, label, options: listed, multiple },
    ...(question.allowsOther === true ? [{ _tag: "Text", name: otherNameOf(at), label: other } as const] : [])
  ]
}

/** Field for a comment on a plan. */
const COMMENT = "comment"

export const formFields = ({ kind, questions = [] }: RequestedInput): ReadonlyArray<CardField> =>
  kind === "plan"
    ? [{ _tag: "Text", name: COMMENT, label: { en: "Comment", zh: "意见" } }]
    : questions.flatMap(fieldsOf)

const optionOf = ({ kind, options = [] }: Question, place: number): string | boolean | undefined => {
  if (kind !== "boolean") return options[place]?.id
  return place === 0 ? true : place === 1 ? false : undefined
}

/** Value of one question; `undefined` if its fields are empty. */
const valueOf = (question: Question, at: number, values: FormValues): AnswerValue | undefined => {
  const entered = values[nameOf(at)] ?? []
  const [first] = entered
  if (question.kind === "text") return first
  // A text that is no number does not fit, and is refused.
  if (question.kind === "number")
    return first !== undefined && Number.isFinite(Number(first)) ? Number(first) : first
  const chosen = entered.map((place) => optionOf(question, Number(place)))
  if (question.kind === "boolean") return chosen[0]
  const [ownText] = values[otherNameOf(at)] ?? []
  const parts: ReadonlyArray<string | OtherAnswer> = [
    ...chosen.filter((each) => typeof each === "string"),
    ...(ownText === undefined || ownText.trim() === "" ? [] : [{ other: ownText }])
  ]
  const [only] = parts
  return only === undefined || (question.multiple !== true && parts.length === 1) ? only : parts
}

/** How a card was answered. */
export type CardAnswer = "submit" | "skip" | "approve" | "return" | { readonly option: number }

const commentOf = (values: FormValues): { readonly comment?: string } => {
  const [comment = ""] = values[COMMENT] ?? []
  return comment.trim() === "" ? {} : { comment }
}

const answersOf = (questions: ReadonlyArray<Question>, values: FormValues): InputAnswer => ({
  answers: Object.fromEntries(
    questions.flatMap((question, at) => {
      const value = valueOf(question, at, values)
      return value === undefined ? [] : [[question.id, value] as const]
    })
  )
})

/** The option of a button that the card has. */
const optionAnswer = (request: RequestedInput, place: number): Readonly<Record<string, AnswerValue>> => {
  const [question] = request.questions ?? []
  if (question === undefined || optionButtons(request)?.[place] === undefined) return {}
  const value = optionOf(question, place)
  return value === undefined ? {} : { [question.id]: value }
}

/** The answer of a click. */
export const answerOfClick = (request: RequestedInput, how: CardAnswer, values: FormValues): InputAnswer => {
  switch (how) {
    case "skip":
      return { decline: true }
    case "approve":
      return { approve: true, ...commentOf(values) }
    case "return":
      return { approve: false, ...commentOf(values) }
    case "submit":
      return answersOf(request.questions ?? [], values)
    default:
      return { answers: optionAnswer(request, how.option) }
  }
}

/** The answer that a text of the person gives to a question. */
export const answerOfText = ({ id, kind, multiple }: Question, text: string): InputAnswer => ({
  answers: { [id]: kind === "text" ? text : multiple === true ? [{ other: text }] : { other: text } }
})

/** Why an answer does not fit, by the place of its question; `undefined` if it fits. */
export const answerProblem = (request: RequestedInput, answer: InputAnswer): string | undefined => {
  const [issue] = answerIssues(request, answer)
  if (issue === undefined) return undefined
  const at = (request.questions ?? []).findIndex(({ id }) => issue.path === `answers.${id}`)
  return at < 0 || (request.questions?.length ?? 0) < 2 ? issue.message : `${at + 1}. ${issue.message}`
}
