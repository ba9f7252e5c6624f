/**
 * Questions and plans of Grok Build, which asks by its own extension methods.
 *
 * Guarantees: without an answer of a person the agent receives `cancelled`, also for an approved plan that ends the run, so that the agent
 * begins no work: the run is cancelled next.
 */
import type { InputAnswers, Question } from "@corral/domain/input/InputRequest"
import type { InputResponse } from "@corral/domain/run/RuntimeAdapter"
import { planTitleOf } from "../form/PlanTitle.ts"
import { arrayOf, defined, isJsonObject, textOf, type JsonObject } from "../text/Json.ts"
import { readAgentQuestion } from "./PermissionQuestion.ts"
import type { AcpInput } from "./Elicitation.ts"

/** Answer for a text of the person, which goes with it as a note. */
const OTHER = "Other"

const labelsIn = (value: unknown): ReadonlyArray<string> =>
  arrayOf(Array.isArray(value) ? value : [value]).flatMap((part) =>
    typeof part === "string" ? [part] : isJsonObject(part) ? [OTHER] : []
  )

const notesIn = (value: unknown): string | undefined => {
  const other = arrayOf(Array.isArray(value) ? value : [value]).find(isJsonObject)
  return other === undefined ? undefined : textOf(other["other"])
}

/** Answers by the text of their question. */
const accepted = (questions: ReadonlyArray<Question>, answers: InputAnswers): object => {
  const chosen: Record<string, ReadonlyArray<string>> = {}
  const annotations: Record<string, { readonly notes: string }> = {}
  for (const { id, text } of questions) {
    const value = Object.hasOwn(answers, id) ? answers[id] : undefined
    if (value === undefined) continue
    chosen[text] = labelsIn(value)
    const notes = notesIn(value)
    if (notes !== undefined) annotations[text] = { notes }
  }
  const more = Object.keys(annotations).length === 0 ? {} : { annotations }
  return { outcome: "accepted", answers: chosen, ...more }
}

const askQuestions = (params: JsonObject, parentCallId: string | undefined): AcpInput | undefined => {
  const questions = arrayOf(params["questions"]).map(readAgentQuestion)
  const [first] = questions
  if (first === undefined) return undefined
  const call = defined({ callId: textOf(params["toolCallId"]), parentCallId })
  const title = questions.length === 1 ? first.text : `${questions.length} questions`
  const toResult = (response: InputResponse): object =>
    response._tag === "Answered" ? accepted(questions, response.answers) : { outcome: "cancelled" }
  return { request: { kind: "question", title, questions, ...call }, question: { toResult } }
}

const handOver = (params: JsonObject, parentCallId: string | undefined, input: JsonObject): AcpInput => {
  const plan = textOf(params["planContent"]) ?? textOf(input["plan"]) ?? "The agent did not write a plan."
  const call = defined({ callId: textOf(params["toolCallId"]), parentCallId })
  const toResult = (response: InputResponse): object => {
    if (response._tag === "PlanApproved" && !response.endsRun) return { outcome: "approved" }
    const feedback = response._tag === "PlanReturned" ? response.comment : undefined
    return { outcome: "cancelled", ...defined({ feedback }) }
  }
  return {
    request: { kind: "plan", title: planTitleOf(plan), plan, ...call },
    question: { toResult, takesComment: true }
  }
}

/** The question of a request; `undefined` for any other method. `input` is the input of its call. */
export const readXaiRequest = (
  method: string,
  params: JsonObject,
  parentCallId: string | undefined,
  input: JsonObject
): AcpInput | undefined => {
  switch (method) {
    case "_x.ai/ask_user_question":
      return askQuestions(params, parentCallId)
    case "_x.ai/exit_plan_mode":
      return handOver(params, parentCallId, input)
    default:
      return undefined
  }
}
