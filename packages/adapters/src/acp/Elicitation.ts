/**
 * Elicitation of an agent: a form, or an address that a person opens, as an input request.
 *
 * Guarantees: without an answer of a person the agent receives `decline`.
 * Does not: open an address.
 */
import type * as Acp from "@agentclientprotocol/sdk"
import type { RequestedInput } from "@corral/domain/input/InputRequest"
import type { InputResponse } from "@corral/domain/run/RuntimeAdapter"
import { titleLine } from "../text/FirstLine.ts"
import { defined, isJsonObject, textOf } from "../text/Json.ts"
import { contentOf, questionsOf } from "../form/FormQuestions.ts"
import type { OpenQuestion } from "./WaitingRequests.ts"
import type { UnverifiedFields } from "./UnverifiedFields.ts"

export type ElicitationParams = UnverifiedFields<Acp.CreateElicitationRequest & Acp.ElicitationSessionScope>

/** An input request, and what is kept for its response. */
export interface AcpInput {
  readonly request: RequestedInput
  readonly question: Omit<OpenQuestion, "id">
}

export const declined: Acp.CreateElicitationResponse = { action: "decline" }

/** The request of an elicitation; `undefined` if its mode or a field of its form is unknown. */
export const readElicitation = (params: ElicitationParams, parentCallId?: string): AcpInput | undefined => {
  const message = textOf(params.message) ?? "The agent asks for input."
  const call = defined({ callId: textOf(params.toolCallId), parentCallId })
  if (params.mode === "url") {
    const url = textOf(params.url)
    if (url === undefined) return undefined
    const toResult = ({ _tag }: InputResponse): Acp.CreateElicitationResponse =>
      _tag === "Answered" ? { action: "accept" } : declined
    const request: RequestedInput = { kind: "link", title: titleLine(message), url, ...call }
    return { request, question: { toResult, linkId: textOf(params.elicitationId) } }
  }
  if ((params.mode !== undefined && params.mode !== "form") || !isJsonObject(params.requestedSchema))
    return undefined
  const questions = questionsOf(params.requestedSchema, message)
  if (questions === undefined) return undefined
  const toResult = (response: InputResponse): Acp.CreateElicitationResponse =>
    response._tag === "Answered"
      ? { action: "accept", content: contentOf(questions, response.answers) }
      : declined
  return {
    request: { kind: "question", title: titleLine(message), questions, ...call },
    question: { toResult }
  }
}
