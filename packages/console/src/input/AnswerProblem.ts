/** What is wrong with the answer to a question, so that the form says it before anything is sent. The Edge decides. Pure. */
import type { AnswerValue, Question } from "@corral/domain/input/InputRequest"

/** `missing`: nothing is chosen or written. `other`: "something else" without a text. */
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
