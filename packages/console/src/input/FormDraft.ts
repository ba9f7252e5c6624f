/**
 * Answer that a person is writing: chosen options and texts, by the id of their question, what is wrong with it before anything is sent, and the
 * question that a text of the composer can answer.
 *
 * Guarantees: nothing is chosen in advance; a draft without choices and texts answers no question. A draft is kept while the page shows
 * something else, without the texts of secrets.
 *
 * Does not: decide whether an answer is valid. The Edge does.
 */
import type { HubInput } from "@corral/domain/hub-api/HubRun"
import type { AnswerValue, InputAnswers, Question } from "@corral/domain/input/InputRequest"
import { useCallback, useEffect, useRef, useState } from "react"

/**
 * What is wrong with the answer to a question, so that the form says it before anything is sent. The Edge decides. Pure. `missing`: nothing is
 * chosen or written. `other`: "something else" without a text.
 */
export type AnswerProblem = "missing" | "other" | "number" | "integer" | "range" | "length"

const isOutside = ({ max, min }: Question, size: number): boolean =>
  (min !== undefined && size < min) || (max !== undefined && size > max)

const problemOfNumber = (question: Question, value: AnswerValue): AnswerProblem | undefined => {
  if (typeof value !== "number") return "number"
  if (question.integer === true && !Number.isInteger(value)) return "integer"
  return isOutside(question, value) ? "range" : undefined
}

/** `isOther`: whether the person chose to write a text. */
export const problemOf = (
  question: Question,
  value: AnswerValue | undefined,
  isOther: boolean
): AnswerProblem | undefined => {
  const hasOther = [value].flat().some((part) => typeof part === "object" && "other" in part)
  if (isOther && !hasOther) return "other"
  if (value === undefined) return question.required === false ? undefined : "missing"
  if (question.kind === "number") return problemOfNumber(question, value)
  return question.kind === "text" && typeof value === "string" && isOutside(question, [...value].length)
    ? "length"
    : undefined
}

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

export interface TextQuestion {
  readonly input: HubInput
  readonly question: Question
}

/**
 * The open question that a text of the composer can answer. Pure. Undefined unless exactly one question allows a text, and the text answers all
 * that its request requires.
 */
export const openTextQuestion = (inputs: ReadonlyArray<HubInput>): TextQuestion | undefined => {
  const found = inputs.flatMap((input) =>
    (input.questions ?? []).filter(allowsText).map((question) => ({ input, question }))
  )
  const [only] = found
  if (only === undefined || found.length > 1) return undefined
  const others = (only.input.questions ?? []).filter(({ id }) => id !== only.question.id)
  return others.every(({ required }) => required === false) ? only : undefined
}

const unsentDrafts = new Map<HubInput["id"], FormDraft>()

const withoutSecrets = (draft: FormDraft, questions: HubInput["questions"] = []): FormDraft => {
  const secrets = new Set(questions.filter(({ secret }) => secret === true).map(({ id }) => id))
  return Object.fromEntries(Object.entries(draft).filter(([id]) => !secrets.has(id)))
}

/** Takes the texts that a person wrote for a question which another person answered, or which has ended. */
export const takeUnsentTexts = (id: HubInput["id"]): string => {
  const draft = unsentDrafts.get(id) ?? emptyDraft
  unsentDrafts.delete(id)
  const texts = Object.values(draft).map(({ text }) => text)
  return texts.filter((text) => text.trim() !== "").join("\n\n")
}

interface KeptDraft {
  readonly draft: FormDraft
  readonly setDraft: (draft: FormDraft) => void
  /** Forgets the draft of an answer that was sent. */
  readonly forget: () => void
}

/** The answer that a person is writing, kept while the page shows something else. Texts of secrets are not kept. */
export const useFormDraft = ({ id, questions }: HubInput): KeptDraft => {
  const [draft, setDraft] = useState(() => unsentDrafts.get(id) ?? emptyDraft)
  const latest = useRef(draft)
  useEffect(() => {
    latest.current = draft
  })
  useEffect(() => () => void unsentDrafts.set(id, withoutSecrets(latest.current, questions)), [id, questions])
  const forget = useCallback(() => {
    setDraft(emptyDraft)
    unsentDrafts.delete(id)
  }, [id])
  return { draft, setDraft, forget }
}
