/**
 * Check of an answer against its request: one issue for each field that does not fit, and for the mode of an approved plan that the place does not
 * offer. Never contains the value that was sent.
 */
import { endsWithPlan, type RunMode } from "../approval/RunMode.ts"
import type { AnswerValue, InputAnswer, InputAnswers, Question, RequestedInput } from "./InputRequest.ts"

/** One field that does not fit: its path (`answers.colour`) and what is expected. */
export interface AnswerIssue {
  readonly path: string
  readonly message: string
}

type Issues = ReadonlyArray<AnswerIssue>
const none: Issues = []

const hasField = <K extends string>(value: unknown, key: K): value is Record<K, unknown> =>
  typeof value === "object" && value !== null && Object.hasOwn(value, key)

/** Whether an answer has no content: an empty text, no option, or white space. */
const isEmpty = (value: AnswerValue): boolean => {
  if (typeof value === "string") return value.trim() === ""
  if (hasField(value, "other")) return String(value.other).trim() === ""
  return Array.isArray(value) && value.length === 0
}

const choiceProblem = (question: Question, value: AnswerValue): string | undefined => {
  const chosen: ReadonlyArray<unknown> = Array.isArray(value) ? value : [value]
  if (Array.isArray(value) && question.multiple !== true) return "Choose one option."
  const ids = new Set(question.options?.map(({ id }) => id))
  for (const one of chosen) {
    if (hasField(one, "other")) {
      if (question.allowsOther !== true) return "This question takes none but its options."
      if (typeof one.other !== "string" || one.other.trim() === "") return "Write your own answer."
    } else if (typeof one !== "string" || !ids.has(one)) return "There is no such option."
  }
  if (new Set(chosen.map((one) => (typeof one === "string" ? one : ""))).size < chosen.length)
    return "Name each option once."
  return undefined
}

const numberProblem = ({ integer, max, min }: Question, value: AnswerValue): string | undefined => {
  if (typeof value !== "number") return "Answer with a number."
  if (integer === true && !Number.isInteger(value)) return "Answer with a whole number."
  if (min !== undefined && value < min) return `Answer with a number from ${min}.`
  return max !== undefined && value > max ? `Answer with a number up to ${max}.` : undefined
}

const lengthProblem = ({ max, min }: Question, text: string): string | undefined => {
  const length = [...text].length
  if (min !== undefined && length < min) return `Answer with at least ${min} characters.`
  return max !== undefined && length > max ? `Answer with at most ${max} characters.` : undefined
}

const problemOf = (question: Question, value: AnswerValue): string | undefined => {
  if (hasField(value, "sealed"))
    return question.secret === true ? undefined : "Only secret answers can be sealed."
  switch (question.kind) {
    case "choice":
      return choiceProblem(question, value)
    case "number":
      return numberProblem(question, value)
    case "boolean":
      return typeof value === "boolean" ? undefined : "Answer with yes or no."
    case "text":
      return typeof value === "string" ? lengthProblem(question, value) : "Answer with a text."
  }
}

/** Own value only: an id is any text, such as `constructor`. */
const answerTo = (answers: InputAnswers, id: string): AnswerValue | undefined =>
  Object.hasOwn(answers, id) ? answers[id] : undefined

const issuesOfAnswers = (questions: ReadonlyArray<Question>, answers: InputAnswers): Issues => {
  const issues: Array<AnswerIssue> = []
  const questionIds = new Set(questions.map(({ id }) => id))
  // The name is the caller's: it is not repeated.
  if (Object.keys(answers).some((id) => !questionIds.has(id)))
    issues.push({ path: "answers", message: "There is no such question." })
  for (const question of questions) {
    const path = `answers.${question.id}`
    const value = answerTo(answers, question.id)
    if (value === undefined || isEmpty(value)) {
      if (question.required !== false) issues.push({ path, message: "Answer this question." })
      continue
    }
    const message = problemOf(question, value)
    if (message !== undefined) issues.push({ path, message })
  }
  return issues
}

/** What does not fit; empty if the answer is valid for the request. A question is required unless it says otherwise. */
export const answerIssues = (request: RequestedInput, answer: InputAnswer): Issues => {
  if ("decline" in answer) return none
  if ("approve" in answer)
    return request.kind === "plan" ? none : [{ path: "approve", message: "Only a plan can be approved." }]
  if (request.kind === "plan")
    return [{ path: "answers", message: "Approve the plan, or send it back with a comment." }]
  return issuesOfAnswers(request.questions ?? [], answer.answers)
}

const isPlain = (value: AnswerValue | undefined): boolean =>
  value !== undefined && !hasField(value, "sealed") && !isEmpty(value)

/** Secret answers that are not sealed: a service that must not see them refuses them. */
export const plainSecretIssues = ({ questions = [] }: RequestedInput, answer: InputAnswer): Issues =>
  "answers" in answer
    ? questions
        .filter(({ id, secret }) => secret === true && isPlain(answerTo(answer.answers, id)))
        .map(({ id }) => ({ path: `answers.${id}`, message: "Send this answer sealed." }))
    : none

/** Mode of the next run, if the approval names none. */
export const DEFAULT_PLAN_MODE: RunMode = "ask"

/**
 * The mode that an answer chooses; `undefined` if it chooses none. `offered`: modes of the agent in its workspace. Where none of them may carry
 * out a plan, an approval without a mode chooses none: the plan is the result.
 */
const chosenMode = (
  answer: InputAnswer,
  runMode: RunMode,
  offered: ReadonlyArray<RunMode>
): RunMode | undefined => {
  if (!("approve" in answer) || !answer.approve) return undefined
  const needsMode = endsWithPlan(runMode) && offered.some((mode) => !endsWithPlan(mode))
  return answer.mode ?? (needsMode ? DEFAULT_PLAN_MODE : undefined)
}

/** What does not fit in an approval that chooses a mode which is not offered. Empty for all other answers. */
export const planModeIssues = (
  answer: InputAnswer,
  runMode: RunMode,
  offered: ReadonlyArray<RunMode>
): ReadonlyArray<AnswerIssue> => {
  const mode = chosenMode(answer, runMode, offered)
  if (mode === undefined || offered.includes(mode)) return []
  const choices = offered.length === 0 ? "No mode is offered." : `Choose one of: ${offered.join(", ")}.`
  return [
    { path: "mode", message: `The agent can't carry out the plan in the mode ${mode} here. ${choices}` }
  ]
}
