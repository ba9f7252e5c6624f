/**
 * What Claude Code asks people in one run: questions of its tool `AskUserQuestion`, plans and forms, with the response to each.
 *
 * Guarantees: each request has one response. Its text has a choice only if a person made it: the labels in the program's own encoding of several,
 * and texts as they were written. Without an answer the program receives a refusal that names no option.
 */
import { readElicitation } from "../form/Elicitation.ts"
import { planTitleOf, titleLine } from "../text/FirstLine.ts"
import type { OutputCollector } from "../output/OutputCollector.ts"
import { arrayOf, defined, isJsonObject, type JsonObject, objectOf, textOf } from "../text/Json.ts"
import { controlResponse, userMessage } from "./Frames.ts"
import type { AnswerValue, InputAnswers, Question, RequestedInput } from "@corral/domain/input/InputRequest"
import type { InputResponse } from "@corral/domain/run/RuntimeAdapter"

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
const toQuestionAnswer = (input: JsonObject, response: InputResponse): object => {
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
