/**
 * What Qwen Code asks people in one run: permissions, questions and plans, with the response to each. Its questions are Claude Code's; its answers
 * are by the position of their question. It cannot remember decisions, so a decision applies to this run at most.
 *
 * Guarantees: each request has one response. Its text has a choice only if a person made it.
 */
import {
  programAnswers,
  refusedQuestion,
  toPlanAnswer,
  toPlanRequest,
  toQuestionRequest
} from "../claude-code/ClaudeInputs.ts"
import { controlResponse } from "../claude-code/Frames.ts"
import type { Relative } from "../files/RelativePath.ts"
import { toToolApproval } from "../one-shot/Tools.ts"
import type { OutputCollector } from "../output/OutputCollector.ts"
import { type JsonObject, objectOf, textOf } from "../text/Json.ts"
import type { ApprovalRequest } from "@corral/domain/approval/Approval"
import type { RequestedInput } from "@corral/domain/input/InputRequest"
import type { InputResponse } from "@corral/domain/run/RuntimeAdapter"

interface OpenInput {
  readonly callId: string | undefined
  readonly toResponse: (response: InputResponse) => object
}

const toAnswer = (input: JsonObject, response: InputResponse): object => {
  if (response._tag !== "Answered")
    return refusedQuestion(response._tag === "Unanswered" ? response.reason : "The user did not answer.")
  const answers = programAnswers(input, response.answers).map(
    ([at, , answer]) => [String(at), answer] as const
  )
  const { comment } = response
  if (answers.length === 0) return refusedQuestion(comment ?? "The user did not answer.")
  return { behavior: "allow", updatedInput: { ...input, answers: Object.fromEntries(answers) } }
}

/** What Qwen Code asks people in one run: questions and plans, with the response to each. */
export class QwenInputs {
  readonly #collector: OutputCollector
  readonly #open = new Map<string, OpenInput>()

  constructor(collector: OutputCollector) {
    this.#collector = collector
  }

  /** Asks what a permission request asks. Returns false if it requests an approval. */
  read(key: string, request: JsonObject, call: Pick<RequestedInput, "callId" | "parentCallId">): boolean {
    const input = objectOf(request["input"])
    switch (request["tool_name"]) {
      case "ask_user_question": {
        const question = toQuestionRequest(input, call)
        return question !== undefined && this.#request(key, question, (response) => toAnswer(input, response))
      }
      case "exit_plan_mode":
        return this.#request(key, toPlanRequest(input, undefined, call), (response) =>
          toPlanAnswer(input, response)
        )
      default:
        return false
    }
  }

  #request(key: string, input: RequestedInput, toResponse: OpenInput["toResponse"]): true {
    if (this.#collector.requestInput(key, input)) this.#open.set(key, { callId: input.callId, toResponse })
    return true
  }

  /** The response to a request as text; `undefined` if it is not open. */
  respond(key: string, response: InputResponse): string | undefined {
    const open = this.#open.get(key)
    if (open === undefined || !this.#collector.takeResponse(key)) return undefined
    this.#open.delete(key)
    return controlResponse(key, open.toResponse(response))
  }

  /** Withdraws a request that the program no longer waits for. Returns false if it is not open. */
  withdraw(key: string): boolean {
    return this.#open.delete(key) && this.#collector.withdrawInput(key, "withdrawn")
  }

  /** Withdraws the request of a call that has a result: the program stopped waiting after a time. */
  closeCall(callId: string): void {
    for (const [key, open] of this.#open)
      if (open.callId === callId && this.#open.delete(key))
        this.#collector.withdrawInput(key, "self_answered")
  }
}

/** Approval for a `can_use_tool` request of Qwen Code. */
export const toQwenApproval = (
  request: JsonObject,
  relative: Relative,
  parentCallId?: string
): ApprovalRequest => {
  const input = objectOf(request["input"])
  return toToolApproval(
    {
      tool: textOf(request["tool_name"]) ?? "unknown",
      input,
      callId: textOf(request["tool_use_id"]),
      parentCallId,
      reason: textOf(input["description"]),
      scopes: ["once", "run"]
    },
    relative
  )
}
