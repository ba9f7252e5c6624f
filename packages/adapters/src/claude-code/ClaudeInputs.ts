/**
 * What Claude Code asks people in one run: questions, plans and forms, with the response to each.
 *
 * Guarantees: each request has one response. Its text has a choice only if a person made it.
 */
import type { RequestedInput } from "@corral/domain/input/InputRequest"
import type { InputResponse } from "@corral/domain/run/RuntimeAdapter"
import { readElicitation } from "../form/Elicitation.ts"
import type { OutputCollector } from "../output/OutputCollector.ts"
import { type JsonObject, objectOf, textOf } from "../text/Json.ts"
import { toQuestionAnswer, toQuestionRequest } from "./ClaudeQuestion.ts"
import { controlResponse, userMessage } from "./Frames.ts"
import { planTitleOf } from "../form/PlanTitle.ts"

// Plan that the tool `ExitPlanMode` hands over, and the answer to its permission request.
//
// Guarantees: only a person's approval allows the call.

/** The plan of a request, or of its call: an old program asks with an empty input. */
const planIn = (...inputs: ReadonlyArray<JsonObject | undefined>): string =>
  inputs.map((input) => textOf(input?.["plan"])).find((plan) => plan !== undefined && plan !== "") ?? ""

export const toPlanRequest = (
  input: JsonObject,
  callInput: JsonObject | undefined,
  call: Pick<RequestedInput, "callId" | "parentCallId">
): RequestedInput => {
  const plan = planIn(input, callInput)
  return { kind: "plan", title: planTitleOf(plan), plan, ...call }
}

const denied = (message: string, interrupt = false) => ({ behavior: "deny", message, interrupt })

/** The answer to the permission request. */
export const toPlanAnswer = (input: JsonObject, response: InputResponse): object => {
  switch (response._tag) {
    case "PlanApproved":
      return response.endsRun
        ? denied("The plan was approved. The work follows in the next turn.", true)
        : { behavior: "allow", updatedInput: input }
    case "PlanReturned": {
      const { comment } = response
      return denied(
        comment === undefined || comment === ""
          ? "The user did not approve the plan. Revise it."
          : `The user did not approve the plan: ${comment}`
      )
    }
    case "Unanswered":
      return denied(`${response.reason} The plan is not approved. Do not carry it out.`)
    case "Answered":
      return denied("The user did not approve the plan.")
  }
}

interface OpenInput {
  readonly callId: string | undefined
  /** Id of the address that a server waits for. */
  readonly linkId: string | undefined
  readonly toResponse: (response: InputResponse) => object
}

export class ClaudeInputs {
  readonly #collector: OutputCollector
  readonly #open = new Map<string, OpenInput>()

  constructor(collector: OutputCollector) {
    this.#collector = collector
  }

  /**
   * Asks what a permission request asks. Returns false if it requests an approval. `callInput`: input of its call.
   */
  readPermission(
    key: string,
    request: JsonObject,
    callInput: JsonObject | undefined,
    call: Pick<RequestedInput, "callId" | "parentCallId">
  ): boolean {
    const input = objectOf(request["input"])
    switch (request["tool_name"]) {
      case "AskUserQuestion": {
        const question = toQuestionRequest(input, call)
        if (question === undefined) return this.#refuse(key, "The call has no question.")
        return this.#request(key, question, (response) => toQuestionAnswer(input, response))
      }
      case "ExitPlanMode":
        return this.#request(key, toPlanRequest(input, callInput, call), (response) =>
          toPlanAnswer(input, response)
        )
      default:
        return false
    }
  }

  /** Asks what an MCP server asks. Returns false if it cannot be asked. */
  readElicitation(key: string, request: JsonObject): boolean {
    const elicitation = readElicitation({
      message: textOf(request["message"]) ?? "A tool asks for input.",
      title: request["title"],
      mode: request["mode"],
      url: request["url"],
      schema: request["requested_schema"],
      order: request["property_order"]
    })
    if (elicitation === undefined) return false
    return this.#request(key, elicitation.request, elicitation.toResponse, textOf(request["elicitation_id"]))
  }

  #request(
    key: string,
    input: RequestedInput,
    toResponse: OpenInput["toResponse"],
    linkId?: string
  ): boolean {
    if (this.#collector.requestInput(key, input))
      this.#open.set(key, { callId: input.callId, linkId, toResponse })
    return true
  }

  /** Refuses what a person cannot be asked. */
  #refuse(key: string, message: string): boolean {
    this.#collector.emit({ _tag: "Reply", text: controlResponse(key, { behavior: "deny", message }) })
    return true
  }

  /** The response to a request as text; `undefined` if it is not open. */
  respond(key: string, response: InputResponse): string | undefined {
    const open = this.#open.get(key)
    if (open === undefined || !this.#collector.takeResponse(key)) return undefined
    this.#open.delete(key)
    const text = controlResponse(key, open.toResponse(response))
    // An approval has no field for a comment.
    const comment = response._tag === "PlanApproved" && !response.endsRun ? (response.comment ?? "") : ""
    return comment === "" ? text : text + userMessage(comment)
  }

  /** Withdraws a request that the program no longer waits for. Returns false if it is not open. */
  withdraw(key: string): boolean {
    return this.#close(key, "withdrawn")
  }

  /** The call of an open question has a result: the program continued without an answer. */
  closeOfCall(callId: string): void {
    for (const [key, open] of this.#open) if (open.callId === callId) this.#close(key, "self_answered")
  }

  /** The person has done at an address what a server waits for. */
  closeLink(linkId: string | undefined): void {
    for (const [key, open] of this.#open)
      if (linkId !== undefined && open.linkId === linkId) this.#close(key, "withdrawn")
  }

  #close(key: string, state: "withdrawn" | "self_answered"): boolean {
    return this.#open.delete(key) && this.#collector.withdrawInput(key, state)
  }
}
