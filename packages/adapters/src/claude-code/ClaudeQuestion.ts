/**
 * Questions of the tool `AskUserQuestion`, and the answer to its permission request.
 *
 * Guarantees: the program receives the labels that a person chose, in its own encoding of several, and texts as they were written. Without an
 * answer it receives a refusal that names no option.
 */
import type { AnswerValue, InputAnswers, Question, RequestedInput } from "@corral/domain/input/InputRequest"
import type { InputResponse } from "@corral/domain/run/RuntimeAdapter"
import { titleLine } from "../text/FirstLine.ts"
import { arrayOf, defined, isJsonObject, textOf, type JsonObject } from "../text/Json.ts"

const numberOf = (value: unknown): number | undefined =>
  typeof value === "number" && Number.isFinite(value) ? value : undefined

const questionsIn = (input: JsonObject): ReadonlyArray<JsonObject> =>
  arrayOf(input["questions"]).filter(isJsonObject)

const optionsIn = (question: JsonObject): ReadonlyArray<JsonObject> =>
  arrayOf(question["options"]).filter(isJsonObject)

const labelOf = (option: JsonObject): string => textOf(option["label"]) ?? ""

/** What the answer to a question is: an option, unless the program asks for a text or a number. */
const kindOf = (question: JsonObject): Pick<Question, "kind"> & Partial<Question> => {
  if (question["kind"] === "text") return { kind: "text" }
  if (question["kind"] === "number")
    return {
      kind: "number",
      ...defined({ min: numberOf(question["min"]), max: numberOf(question["max"]) })
    }
  return {
    kind: "choice",
    options: optionsIn(question).map((option, at) => ({
      id: String(at),
      label: labelOf(option),
      ...defined({ description: textOf(option["description"]) })
    })),
    allowsOther: true,
    ...(question["multiSelect"] === true ? { multiple: true } : {})
  }
}

const toQuestion = (question: JsonObject, at: number): Question => ({
  id: String(at),
  text: textOf(question["question"]) ?? "",
  ...defined({ header: textOf(question["header"]) }),
  ...kindOf(question)
})

/** The request for the input of a call; `undefined` if it asks nothing. */
export const toQuestionRequest = (
  input: JsonObject,
  call: Pick<RequestedInput, "callId" | "parentCallId">
): RequestedInput | undefined => {
  const questions = questionsIn(input).map(toQuestion)
  const [first] = questions
  if (first === undefined) return undefined
  const title = textOf(input["title"]) ?? first.text
  return { kind: "question", title: titleLine(title), questions, ...call }
}

/** Several labels as the program joins them: a label with a separator or a quote is a JSON string. */
const joined = (labels: ReadonlyArray<string>): string =>
  labels.map((label) => (/, |"/.test(label) ? JSON.stringify(label) : label)).join(", ")

const answerText = (question: JsonObject, value: AnswerValue): string | undefined => {
  const options = optionsIn(question)
  const isChoice = kindOf(question).kind === "choice"
  const textOfPart = (part: unknown): string | undefined => {
    if (isJsonObject(part)) return textOf(part["other"])
    if (typeof part === "number") return String(part)
    if (typeof part !== "string") return undefined
    const option = isChoice ? options[Number(part)] : undefined
    return isChoice ? option && labelOf(option) : part
  }
  if (!Array.isArray(value)) return textOfPart(value)
  const parts: ReadonlyArray<unknown> = value
  return joined(parts.flatMap((part) => textOfPart(part) ?? []))
}

/** The answered questions with the text of each answer, by their position. */
export const programAnswers = (
  input: JsonObject,
  answers: InputAnswers
): ReadonlyArray<readonly [at: number, question: string, answer: string]> =>
  questionsIn(input).flatMap((question, at) => {
    const value = Object.hasOwn(answers, at) ? answers[at] : undefined
    const text = value === undefined ? undefined : answerText(question, value)
    return text === undefined || text === "" ? [] : [[at, textOf(question["question"]) ?? "", text] as const]
  })

export const refusedQuestion = (reason: string) => ({
  behavior: "deny",
  message: `${reason} No answer was chosen. Continue without it only if you can; otherwise end your turn and say what you need to know.`
})

/** The answer to the permission request. */
export const toQuestionAnswer = (input: JsonObject, response: InputResponse): object => {
  if (response._tag !== "Answered")
    return refusedQuestion(response._tag === "Unanswered" ? response.reason : "The user did not answer.")
  const answers = programAnswers(input, response.answers).map(
    ([, question, answer]) => [question, answer] as const
  )
  const [first] = answers
  if (first === undefined) return refusedQuestion("The user did not answer.")
  const { comment } = response
  return {
    behavior: "allow",
    updatedInput: {
      ...input,
      answers: Object.fromEntries(answers),
      ...(comment === undefined ? {} : { annotations: { [first[0]]: { notes: comment } } })
    }
  }
}
