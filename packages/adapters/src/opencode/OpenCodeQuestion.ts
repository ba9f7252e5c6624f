/**
 * Questions of OpenCode as an input request, and answers as the texts that it takes for each question.
 *
 * Guarantees: a question that no person answered receives a sentence and never one of its options.
 */
import type { InputAnswers, Question, RequestedInput } from "@corral/domain/input/InputRequest"
import type { InputResponse } from "@corral/domain/run/RuntimeAdapter"
import { arrayOf, defined, isJsonObject, objectOf, textOf, type JsonObject } from "../text/Json.ts"

const toQuestion = (reported: JsonObject, at: number): Question => {
  const options = arrayOf(reported["options"])
    .filter(isJsonObject)
    .map((option, index) =>
      defined({
        id: String(index),
        label: textOf(option["label"]) ?? "",
        description: textOf(option["description"])
      })
    )
  return {
    id: String(at),
    text: textOf(reported["question"]) ?? "",
    ...defined({ header: textOf(reported["header"]) }),
    ...(options.length === 0
      ? { kind: "text" as const }
      : {
          kind: "choice" as const,
          options,
          ...(reported["multiple"] === true ? { multiple: true } : {}),
          ...(reported["custom"] === false ? {} : { allowsOther: true })
        })
  }
}

export const toOpenCodeInput = (
  reported: unknown,
  callId: string | undefined,
  parentCallId: string | undefined
): RequestedInput => {
  const questions = arrayOf(reported).map((question, at) => toQuestion(objectOf(question), at))
  return {
    kind: "question",
    title: questions[0]?.text ?? "The agent asks a question",
    questions,
    ...defined({ callId, parentCallId })
  }
}

const textsOf = (question: Question, answers: InputAnswers): ReadonlyArray<string> => {
  const answer = answers[question.id]
  const values = Array.isArray(answer) ? answer : answer === undefined ? [] : [answer]
  return values.flatMap((value: unknown) => {
    const other = textOf(objectOf(value)["other"])
    if (other !== undefined) return [other]
    if (typeof value !== "string") return value === undefined ? [] : [String(value)]
    return question.options === undefined
      ? [value]
      : (question.options.find(({ id }) => id === value)?.label ?? [])
  })
}

/** The texts for each question, in their order. */
export const toOpenCodeAnswers = (
  { questions = [] }: RequestedInput,
  response: InputResponse
): ReadonlyArray<ReadonlyArray<string>> => {
  const unanswered = (reason: string) => [`Not answered: ${reason}`]
  switch (response._tag) {
    case "Answered":
      return questions.map((question) => {
        const texts = textsOf(question, response.answers)
        return texts.length === 0
          ? unanswered(response.comment ?? "The user left this question open.")
          : texts
      })
    case "Unanswered":
      return questions.map(() => unanswered(response.reason))
    default:
      return questions.map(() => unanswered(response.comment ?? "The user did not answer."))
  }
}
