/**
 * Input request within the bounds of the specification.
 *
 * Guarantees: ids, order and kinds stay. Texts that were cut end with `…`. What is beyond the bounds is reported, never dropped in silence.
 */
import { Buffer } from "node:buffer"
import {
  MAX_INPUT_TEXT,
  MAX_OPTIONS,
  MAX_QUESTIONS,
  type Question,
  type RequestedInput
} from "@corral/domain/input/InputRequest"
import { beginningOf, titleLine } from "../text/FirstLine.ts"

export interface BoundedInput {
  readonly request: RequestedInput
  /** The whole plan, if the request has only its beginning. */
  readonly wholePlan?: string
  /** What the request does not show. */
  readonly omission?: string
}

/** Most bytes of JSON of all questions, so that one event holds them. */
const QUESTION_BYTES = 163_840
const LONGEST_TEXT = 8_192
const SHORTEST_TEXT = 16

const shortened = (question: Question, characters: number): Question => ({
  ...question,
  text: beginningOf(question.text, characters),
  ...(question.header === undefined ? {} : { header: beginningOf(question.header, characters) }),
  ...(question.options === undefined
    ? {}
    : {
        options: question.options.slice(0, MAX_OPTIONS).map(({ description, id, label }) => ({
          id,
          label: beginningOf(label, characters),
          ...(description === undefined ? {} : { description: beginningOf(description, characters) })
        }))
      })
})

const fittingQuestions = (questions: ReadonlyArray<Question>): ReadonlyArray<Question> => {
  const first = questions.slice(0, MAX_QUESTIONS)
  let characters = LONGEST_TEXT
  let fitting = first.map((question) => shortened(question, characters))
  while (characters > SHORTEST_TEXT && Buffer.byteLength(JSON.stringify(fitting)) > QUESTION_BYTES) {
    characters /= 2
    fitting = first.map((question) => shortened(question, characters))
  }
  return fitting
}

const omissionOf = (
  questions: ReadonlyArray<Question>,
  fitting: ReadonlyArray<Question>
): string | undefined => {
  if (questions.length > MAX_QUESTIONS)
    return `The agent asked ${questions.length} questions. The first ${MAX_QUESTIONS} are shown.`
  const most = Math.max(0, ...questions.map(({ options = [] }) => options.length))
  if (most > MAX_OPTIONS)
    return `A question of the agent has ${most} options. The first ${MAX_OPTIONS} are shown.`
  return JSON.stringify(questions) === JSON.stringify(fitting)
    ? undefined
    : "A question of the agent is too long to be shown whole."
}

export const boundInput = (request: RequestedInput): BoundedInput => {
  const { plan, questions, title } = request
  const fitting = questions === undefined ? undefined : fittingQuestions(questions)
  const omission =
    questions === undefined || fitting === undefined ? undefined : omissionOf(questions, fitting)
  const isLong = plan !== undefined && plan.length > MAX_INPUT_TEXT
  return {
    request: {
      ...request,
      title: titleLine(title),
      ...(fitting === undefined ? {} : { questions: fitting }),
      ...(isLong ? { plan: beginningOf(plan, MAX_INPUT_TEXT - 1) } : {})
    },
    ...(isLong ? { wholePlan: plan } : {}),
    ...(omission === undefined ? {} : { omission })
  }
}
