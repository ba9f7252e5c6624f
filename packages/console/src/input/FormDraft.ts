/**
 * Answer that a person is writing: chosen options and texts, by the id of their question. Pure.
 *
 * Guarantees: nothing is chosen in advance; a draft without choices and texts answers no question.
 */
import type { AnswerValue, InputAnswers, Question } from "@corral/domain/input/InputRequest"

export interface QuestionDraft {
  /** Ids of the chosen options, in the order of the question. `yes` and `no` for a yes-or-no question. */
  readonly chosen: ReadonlyArray<string>
  /** Whether the person answers with a text instead of an option, or in addition to options. */
  readonly isOther: boolean
  readonly text: string
}

export type FormDraft = Readonly<Record<string, QuestionDraft>>

export const emptyDraft: FormDraft = {}
const untouched: QuestionDraft = { chosen: [], isOther: false, text: "" }

export const draftOf = (draft: FormDraft, { id }: Question): QuestionDraft =>
  Object.hasOwn(draft, id) ? (draft[id] ?? untouched) : untouched

/** Ids of what can be chosen, in the program's order. */
export const optionIds = ({ kind, options = [] }: Question): ReadonlyArray<string> =>
  kind === "boolean" ? ["yes", "no"] : kind === "choice" ? options.map(({ id }) => id) : []

/** The draft after the person chose an option. A second choice of the same option takes it back where several can be chosen. */
export const withOption = (draft: FormDraft, question: Question, option: string): FormDraft => {
  const before = draftOf(draft, question)
  if (question.multiple !== true)
    return { ...draft, [question.id]: { ...before, chosen: [option], isOther: false } }
  const others = before.chosen.filter((id) => id !== option)
  const chosen = others.length < before.chosen.length ? others : [...others, option]
  const inOrder = optionIds(question).filter((id) => chosen.includes(id))
  return { ...draft, [question.id]: { ...before, chosen: inOrder } }
}

/** The draft after the person chose to write a text, or no longer does. */
export const withOther = (draft: FormDraft, question: Question, isOther: boolean): FormDraft => {
  const before = draftOf(draft, question)
  const chosen = question.multiple === true ? before.chosen : []
  return { ...draft, [question.id]: { ...before, chosen, isOther } }
}

export const withText = (draft: FormDraft, question: Question, text: string): FormDraft => ({
  ...draft,
  [question.id]: { ...draftOf(draft, question), text }
})

/** The draft without any choice. Texts stay. */
export const withoutChoices = (draft: FormDraft): FormDraft =>
  Object.fromEntries(Object.entries(draft).map(([id, { text }]) => [id, { ...untouched, text }]))

/** Whether an option or "something else" is chosen. */
export const hasChoice = (draft: FormDraft): boolean =>
  Object.values(draft).some(({ chosen, isOther }) => chosen.length > 0 || isOther)

const choiceOf = ({ multiple }: Question, { chosen, isOther, text }: QuestionDraft) => {
  const other = isOther && text.trim() !== "" ? { other: text.trim() } : undefined
  if (multiple !== true) return other ?? chosen[0]
  const all = [...chosen, ...(other === undefined ? [] : [other])]
  return all.length === 0 ? undefined : all
}

/** The answer to one question. Undefined if there is none. A text of a number that is none stays a text. */
export const valueOf = (question: Question, draft: QuestionDraft): AnswerValue | undefined => {
  const text = draft.text.trim()
  switch (question.kind) {
    case "choice":
      return choiceOf(question, draft)
    case "boolean":
      return draft.chosen.length === 0 ? undefined : draft.chosen[0] === "yes"
    case "number":
      return text === "" ? undefined : Number.isFinite(Number(text)) ? Number(text) : text
    case "text":
      return text === "" ? undefined : question.secret === true ? draft.text : text
  }
}

export const answersOf = (questions: ReadonlyArray<Question>, draft: FormDraft): InputAnswers =>
  Object.fromEntries(
    questions.flatMap((question) => {
      const value = valueOf(question, draftOf(draft, question))
      return value === undefined ? [] : [[question.id, value]]
    })
  )

/** Whether a text of a person answers the question. Secrets have a field of their own. */
export const allowsText = ({ allowsOther, kind, secret }: Question): boolean =>
  secret !== true && (kind === "text" || (kind === "choice" && allowsOther === true))

/** The answer to a question that allows a text. */
export const textAnswer = ({ kind, multiple }: Question, text: string): AnswerValue =>
  kind === "text" ? text : multiple === true ? [{ other: text }] : { other: text }
