/**
 * Questions and plans of agents as input requests of the protocol, and what a response answers.
 *
 * Guarantees: nothing that a client preselects is an answer. A question with options begins with "Not decided", which answers nothing, and no
 * question is a `boolean`. A secret is never asked, because clients show what is typed.
 * Does not: check answers. The service does.
 */
import { endsWithPlan, type RunMode } from "@corral/domain/approval/RunMode"
import type { AnswerValue, InputAnswer, Question, RequestedInput } from "@corral/domain/input/InputRequest"
import type { InputResolution } from "@corral/domain/run/Resolution"
import { isJsonObject } from "@corral/domain/text/JsonObject"
import { safeText } from "@corral/domain/text/SafeText"
import type {
  AnswerContent,
  AnswerState,
  InputOption,
  InputQuestion,
  InputRequestState,
  InputResponse
} from "../protocol/State.ts"

/** What the modes of an approved plan depend on. */
export interface PlanPlace {
  readonly mode: RunMode
  readonly modes: ReadonlyArray<RunMode>
}

const NOT_DECIDED = "corral.not-decided"
const notDecided: InputOption = { id: NOT_DECIDED, label: "Not decided" }
const yesNo: ReadonlyArray<InputOption> = [
  { id: "yes", label: "Yes" },
  { id: "no", label: "No" }
]
/** Question of a plan. */
const DECISION = "decision"

/** Clients do not show descriptions of options: they are part of the question. */
const messageOf = ({ options = [], text }: Question): string => {
  const described = options.flatMap(({ description, label }) =>
    description === undefined ? [] : [`- ${label}: ${description}`]
  )
  return safeText([text, ...described].join("\n"))
}

const select = (
  base: Pick<InputQuestion, "id" | "message"> & Partial<InputQuestion>,
  options: ReadonlyArray<InputOption>,
  more: { readonly isMultiple: boolean; readonly allowsOther: boolean }
): InputQuestion => ({
  ...base,
  kind: more.isMultiple ? "multi-select" : "single-select",
  options: [notDecided, ...options],
  allowFreeformInput: more.allowsOther
})

const questionOf = (question: Question): InputQuestion => {
  const { allowsOther, format, header, id, integer, kind, max, min, multiple, required } = question
  const base = {
    id,
    ...(header === undefined ? {} : { title: safeText(header) }),
    message: messageOf(question),
    required: required !== false
  }
  switch (kind) {
    case "choice": {
      const options = (question.options ?? []).map((option) => ({
        id: option.id,
        label: safeText(option.label)
      }))
      return select(base, options, { isMultiple: multiple === true, allowsOther: allowsOther === true })
    }
    case "boolean":
      return select(base, yesNo, { isMultiple: false, allowsOther: false })
    case "number":
      return {
        ...base,
        kind: integer === true ? "integer" : "number",
        ...(min === undefined ? {} : { min }),
        ...(max === undefined ? {} : { max })
      }
    case "text":
      return { ...base, kind: "text", ...(format === undefined ? {} : { format }) }
  }
}

interface PlanChoice {
  readonly option: InputOption
  readonly answer: { readonly approve: boolean; readonly mode?: RunMode }
}

const planChoices = ({ mode, modes }: PlanPlace): ReadonlyArray<PlanChoice> => {
  const working = endsWithPlan(mode) ? modes.filter((each) => !endsWithPlan(each)) : []
  const approvals: ReadonlyArray<PlanChoice> =
    working.length === 0
      ? [{ option: { id: "approve", label: "Approve" }, answer: { approve: true } }]
      : working.map((each) => ({
          option: { id: `approve_${each}`, label: `Approve, and work in the mode ${each}` },
          answer: { approve: true, mode: each }
        }))
  return [...approvals, { option: { id: "return", label: "Send back" }, answer: { approve: false } }]
}

/** An address for a browser, with the real name of its host: editors have commands that are addresses too. */
const webAddress = (text: string | undefined): string | undefined => {
  const url = text === undefined ? null : URL.parse(text)
  return url !== null && /^https?:$/.test(url.protocol) && url.username === "" && url.password === ""
    ? url.href
    : undefined
}

/** The request as clients show it. `undefined`: an editor cannot ask it. */
export const inputRequest = (
  id: string,
  request: RequestedInput,
  place: PlanPlace
): InputRequestState | undefined => {
  const { kind, questions = [], title, url } = request
  const message = safeText(title)
  if (kind === "link") {
    const address = webAddress(url)
    return address === undefined ? undefined : { id, message, url: address }
  }
  if (kind === "plan") {
    const options = planChoices(place).map(({ option }) => option)
    const base = { id: DECISION, title: "Plan", message: "Approve the plan?", required: true }
    return { id, message, questions: [select(base, options, { isMultiple: false, allowsOther: true })] }
  }
  if (questions.length === 0 || questions.some(({ secret }) => secret === true)) return undefined
  return { id, message, questions: questions.map(questionOf) }
}

/** What a client sent for one question. */
interface SentValue {
  readonly ids: ReadonlyArray<string>
  readonly text: string | undefined
  readonly number: number | undefined
}

const textOf = (texts: ReadonlyArray<string> | undefined): string | undefined =>
  texts?.find((text) => text.trim() !== "")

const sentValue = (content: AnswerContent): SentValue => {
  const none: SentValue = { ids: [], text: undefined, number: undefined }
  switch (content.kind) {
    case "text":
      return { ...none, text: textOf([content.value]) }
    case "number":
      return { ...none, number: content.value }
    // This host asks none: the client has preselected it.
    case "boolean":
      return { ...none, ids: [NOT_DECIDED] }
    case "selected":
      return { ...none, ids: [content.value], text: textOf(content.freeformValues) }
    case "selected-many":
      return { ...none, ids: content.value, text: textOf(content.freeformValues) }
  }
}

const undecided = (what: string): string => `Not decided: ${what}. Choose an answer.`

/** `undefined`: nothing is chosen, or "Not decided". */
const choiceAnswer = (
  { allowsOther, multiple }: Question,
  { ids, text }: SentValue
): AnswerValue | undefined => {
  const other = text !== undefined && allowsOther === true ? [{ other: text }] : []
  const chosen = ids.filter((id) => id !== NOT_DECIDED)
  const all = [...chosen, ...other]
  if (multiple === true) return all.length === 0 || chosen.length < ids.length ? undefined : all
  // One choice: the text of the person replaces the option.
  return other[0] ?? chosen[0]
}

/** An answer to one question. A refusal is a sentence in an object. */
const answerTo = (
  question: Question,
  content: AnswerContent
): { readonly value: AnswerValue } | { readonly refused: string } => {
  const found = sentValue(content)
  const what = question.header ?? question.text
  const refused = { refused: undecided(what) }
  switch (question.kind) {
    case "choice": {
      const value = choiceAnswer(question, found)
      return value === undefined ? refused : { value }
    }
    case "boolean": {
      const [id] = found.ids
      return id === "yes" || id === "no" ? { value: id === "yes" } : refused
    }
    case "number": {
      const value = found.number ?? (found.text === undefined ? Number.NaN : Number(found.text))
      return Number.isFinite(value) ? { value } : { refused: `Answer with a number: ${what}.` }
    }
    case "text":
      return found.text === undefined ? refused : { value: found.text }
  }
}

type Sent = Readonly<Record<string, AnswerState>>

const planAnswer = (place: PlanPlace, sent: Sent): InputAnswer | string => {
  const state = sent[DECISION]
  if (state?.state !== "submitted") return undecided("the plan")
  const { ids, text } = sentValue(state.value)
  const [id = NOT_DECIDED] = ids
  // A text alone is what the plan lacks: it approves nothing.
  if (text !== undefined && id === NOT_DECIDED) return { approve: false, comment: text }
  const choice = planChoices(place).find(({ option }) => option.id === id)
  if (choice === undefined) return undecided("the plan")
  return text === undefined ? choice.answer : { ...choice.answer, comment: text }
}

/** What a response answers. A text: why it answers nothing. */
export const answerOf = (
  request: RequestedInput,
  place: PlanPlace,
  response: InputResponse,
  sent: Sent
): InputAnswer | string => {
  if (response === "decline") return { decline: true }
  // Clients send it too when a window closes or a turn is stopped.
  if (response === "cancel") return "Closing a question answers nothing. It is still open."
  if (request.kind === "plan") return planAnswer(place, sent)
  const answers: Record<string, AnswerValue> = {}
  for (const question of request.questions ?? []) {
    const state = sent[question.id]
    if (state?.state !== "submitted") continue
    const answer = answerTo(question, state.value)
    if ("refused" in answer) return answer.refused
    answers[question.id] = answer.value
  }
  return { answers }
}

const contentOf = (question: Question | undefined, value: unknown): AnswerContent | undefined => {
  if (typeof value === "boolean") return { kind: "selected", value: value ? "yes" : "no" }
  if (typeof value === "number") return { kind: "number", value }
  if (typeof value === "string")
    return question?.kind === "choice" ? { kind: "selected", value } : { kind: "text", value }
  const other = isJsonObject(value) ? value["other"] : undefined
  if (typeof other === "string") return { kind: "text", value: other }
  if (!Array.isArray(value)) return undefined
  const texts = value.flatMap((each: unknown) =>
    isJsonObject(each) && typeof each["other"] === "string" ? [each["other"]] : []
  )
  return {
    kind: "selected-many",
    value: value.filter((each): each is string => typeof each === "string"),
    ...(texts.length === 0 ? {} : { freeformValues: texts })
  }
}

/** The end of a request as the client's state has it. */
export const completion = (
  request: RequestedInput | undefined,
  { answers, approved, state }: Pick<InputResolution, "answers" | "approved" | "state">
): { readonly response: InputResponse; readonly answers?: Sent } => {
  if (state === "declined") return { response: "decline" }
  if (state !== "answered") return { response: "cancel" }
  const entries = Object.entries(answers ?? {}).flatMap(([id, value]) => {
    const content = contentOf(
      request?.questions?.find((question) => question.id === id),
      value
    )
    return content === undefined ? [] : [[id, { state: "submitted" as const, value: content }] as const]
  })
  if (approved !== undefined)
    return {
      response: "accept",
      answers: {
        [DECISION]: {
          state: "submitted",
          value: { kind: "selected", value: approved ? "approve" : "return" }
        }
      }
    }
  return entries.length === 0
    ? { response: "accept" }
    : { response: "accept", answers: Object.fromEntries(entries) }
}
