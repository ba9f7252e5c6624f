/** Line of text about the end of a question, a form or a plan: how it ended, by whom, where, and what was answered. */
import type { RequestedInput } from "@corral/domain/input/InputRequest"
import type { InputResolution } from "@corral/domain/run/Resolution"
import { originTexts } from "../terminal/OriginTexts.ts"
import { escapeLine } from "../terminal/VisibleText.ts"
import type { Row } from "../terminal/WrapText.ts"

const states: Readonly<Record<InputResolution["state"], string>> = {
  pending: "open",
  answered: "answered",
  declined: "skipped",
  expired: "expired without an answer",
  withdrawn: "no longer asked",
  self_answered: "the agent continued without an answer",
  cancelled: "closed without an answer"
}

const stateText = ({ approved, mode, state }: InputResolution): string => {
  if (approved === undefined) return states[state]
  return approved ? `plan approved${mode === undefined ? "" : `, to work in ${mode}`}` : "plan sent back"
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null

/** One value as the person gave it. A secret has no text. */
const valueText = (value: unknown, labels: ReadonlyMap<string, string>): string => {
  if (Array.isArray(value)) return value.map((each) => valueText(each, labels)).join(", ")
  if (typeof value === "string") return labels.get(value) ?? value
  if (typeof value === "boolean") return value ? "yes" : "no"
  if (isObject(value)) return typeof value["other"] === "string" ? value["other"] : "(hidden)"
  return String(value)
}

/** Answers in the order of the questions, with the labels of options. */
export const answerTexts = (
  request: RequestedInput | undefined,
  answers: InputResolution["answers"]
): ReadonlyArray<string> =>
  Object.entries(answers ?? {}).map(([id, value]) => {
    const question = request?.questions?.find((each) => each.id === id)
    const options = question?.kind === "choice" ? (question.options ?? []) : []
    const labels = new Map(options.map((option) => [option.id, option.label]))
    const name = (request?.questions?.length ?? 0) > 1 ? `${question?.header ?? question?.text ?? id}: ` : ""
    return escapeLine(`${name}${valueText(value, labels)}`)
  })

export const inputResolutionLine = (
  request: RequestedInput | undefined,
  resolution: Omit<InputResolution, "resolvedAt">,
  nameOf: (user: string) => string
): Row => {
  const { answeredBy, answers, comment, origin, state } = resolution
  const who = answeredBy === undefined ? "" : ` by ${escapeLine(nameOf(answeredBy))}`
  const where = origin === undefined ? "" : originTexts[origin]
  const what = [...answerTexts(request, answers), ...(comment === undefined ? [] : [escapeLine(comment)])]
  return [
    { text: stateText(resolution), style: state === "answered" ? "green" : "yellow" },
    { text: `${who}${where}${what.length === 0 ? "" : `: ${what.join("; ")}`}` }
  ]
}
