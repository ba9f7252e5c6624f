/**
 * Permission requests that are questions: the options are answers, or the agent sends its questions with the request.
 *
 * Guarantees: without an answer of a person the agent receives the option that rejects once, or `cancelled`. It never receives an answer.
 */
import type * as Acp from "@agentclientprotocol/sdk"
import type { AnswerValue, InputAnswers, Question, RequestedInput } from "@corral/domain/input/InputRequest"
import type { InputResponse } from "@corral/domain/run/RuntimeAdapter"
import { titleLine } from "../text/FirstLine.ts"
import { arrayOf, defined, isJsonObject, objectOf, textOf } from "../text/Json.ts"
import type { AgentQuestion, AnsweredPermission, QuestionMeta } from "./AcpExtensions.ts"
import { optionsOfKind, toPermissionResponse } from "./Permission.ts"
import { type ToolCall, shownTextOf } from "./ToolCall.ts"
import type { UnverifiedFields } from "./AcpSchema.ts"
import { readElicitation } from "../form/Elicitation.ts"
import type { OpenQuestion } from "./WaitingRequests.ts"

// Elicitation of an agent of ACP, as an input request.

export type ElicitationParams = UnverifiedFields<Acp.CreateElicitationRequest & Acp.ElicitationSessionScope>

/** An input request, and what is kept for its response. */
export interface AcpInput {
  readonly request: RequestedInput
  readonly question: Omit<OpenQuestion, "id">
}

/** The request of an elicitation; `undefined` if its mode or a field of its form is unknown. */
export const toAcpInput = (params: ElicitationParams, parentCallId?: string): AcpInput | undefined => {
  const { mode, requestedSchema: schema, url } = params
  if (mode !== "url" && ((mode !== undefined && mode !== "form") || !isJsonObject(schema))) return undefined
  const message = textOf(params.message) ?? "The agent asks for input."
  const elicitation = readElicitation({ message, mode, schema, url })
  if (elicitation === undefined) return undefined
  const linkId = mode === "url" ? textOf(params.elicitationId) : undefined
  return {
    request: { ...elicitation.request, ...defined({ callId: textOf(params.toolCallId), parentCallId }) },
    question: { toResult: elicitation.toResponse, ...defined({ linkId }) }
  }
}

/** Id of the only question, if the options are the answers. */
const CHOICE = "choice"

const inputOf = (call: ToolCall, questions: ReadonlyArray<Question>, title: string): AcpInput["request"] => ({
  kind: "question",
  title: titleLine(title),
  questions,
  callId: call.callId,
  ...defined({ parentCallId: call.parentCallId })
})

/** A choice between the options that allow once, in the agent's order. */
const askChoice = (call: ToolCall, options: unknown): AcpInput => {
  const choices = optionsOfKind(options, "allow_once")
  const text = questionIn(call) ?? (shownTextOf(call) || call.title)
  const question: Question = { id: CHOICE, text, kind: "choice", options: choices }
  const toResult = (response: InputResponse): Acp.RequestPermissionResponse => {
    const optionId = response._tag === "Answered" ? response.answers[CHOICE] : undefined
    return choices.some(({ id }) => id === optionId) && typeof optionId === "string"
      ? { outcome: { outcome: "selected", optionId } }
      : toPermissionResponse(options, "deny")
  }
  return { request: inputOf(call, [question], text), question: { toResult, callId: call.callId } }
}

/** The question in the input of a call, as the model wrote it. */
const questionIn = ({ input }: ToolCall): string | undefined => {
  const [first] = arrayOf(input["questions"])
  return textOf(objectOf(first)["question"]) ?? textOf(input["question"])
}

/** A question as a model wrote it. Its id is its number. */
export const readAgentQuestion = (entry: unknown, at: number): Question => {
  const { header, multiSelect, options, question }: UnverifiedFields<AgentQuestion> = objectOf(entry)
  const choices = arrayOf(options).flatMap((option) => {
    const { description, label }: UnverifiedFields<AgentQuestion["options"][number]> = objectOf(option)
    const id = textOf(label)
    return id === undefined ? [] : [{ id, label: id, ...defined({ description: textOf(description) }) }]
  })
  const base = { id: `${at}`, text: textOf(question) ?? "", ...defined({ header: textOf(header) }) }
  if (choices.length === 0) return { ...base, kind: "text" }
  return {
    ...base,
    kind: "choice",
    options: choices,
    allowsOther: true,
    ...(multiSelect === true ? { multiple: true } : {})
  }
}

const answerText = (value: AnswerValue): string => {
  if (Array.isArray(value)) return value.map(answerText).join(", ")
  return typeof value === "object" ? (textOf(objectOf(value)["other"]) ?? "") : String(value)
}

const answersOf = (questions: ReadonlyArray<Question>, answers: InputAnswers): Record<string, string> =>
  Object.fromEntries(
    questions.flatMap(({ id }) => {
      const value = Object.hasOwn(answers, id) ? answers[id] : undefined
      return value === undefined ? [] : [[id, answerText(value)]]
    })
  )

/** Questions in `_meta` of the request. The answers go with the response. */
const askQuestions = (call: ToolCall, options: unknown, entries: ReadonlyArray<unknown>): AcpInput => {
  const questions = entries.map(readAgentQuestion)
  const toResult = (response: InputResponse): AnsweredPermission | Acp.RequestPermissionResponse =>
    response._tag === "Answered"
      ? { ...toPermissionResponse(options, "allow"), answers: answersOf(questions, response.answers) }
      : toPermissionResponse(options, "deny")
  const [first] = questions
  const title = questions.length === 1 && first !== undefined ? first.text : call.title
  return { request: inputOf(call, questions, title), question: { toResult, callId: call.callId } }
}

/** The question of a permission request; `undefined` if it is about an action. */
export const readQuestionIn = (call: ToolCall, options: unknown): AcpInput | undefined => {
  const { qwenInteractionKind, qwenQuestions }: UnverifiedFields<QuestionMeta> = call.meta
  const entries = arrayOf(qwenQuestions)
  if (qwenInteractionKind === "user_question" && entries.length > 0)
    return askQuestions(call, options, entries)
  return optionsOfKind(options, "allow_once").length > 1 ? askChoice(call, options) : undefined
}
