/**
 * Codex's requests to the user: approvals, questions and forms, and the questions that end a turn. Each waits for one response.
 *
 * Guarantees: a response is written once. Without an answer of a person Codex receives no option.
 */
import type { Decision } from "@corral/domain/approval/Approval"
import type { RequestedInput } from "@corral/domain/input/InputRequest"
import type { ApprovalAnswer, InputResponse } from "@corral/domain/run/RuntimeAdapter"
import type { Relative } from "../files/RelativePath.ts"
import type { OutputCollector } from "../output/OutputCollector.ts"
import { defined, type JsonObject } from "../text/Json.ts"
import { toCodexQuestion } from "./Approvals.ts"
import { type CodexRequestId, codexRefusal, codexResponse, declineLost, isRequestId } from "./Frames.ts"
import type { ItemOrigin, Items } from "./Items.ts"
import { messageOfResponse, toCodexInput, unansweredResult } from "./Questions.ts"

/** Parts of the conversation that responses use. */
export interface RequestsHost {
  readonly collector: OutputCollector
  readonly items: Items
  /** The line that adds a message to the active turn of a thread. */
  readonly steer: (thread: string, text: string) => string
  /** The line that starts a turn with a message. */
  readonly startTurn: (text: string) => string
}

interface PendingApproval {
  readonly id: CodexRequestId
  readonly origin: ItemOrigin
  readonly result: (decision: Decision) => object
}

export class Requests {
  readonly #host: RequestsHost
  readonly #approvals = new Map<string, PendingApproval>()
  readonly #inputs = new Map<string, (response: InputResponse) => string | undefined>()
  /** Keys of the questions that Codex stops waiting for by itself. */
  readonly #timed = new Set<string>()
  /** Keys of the questions that wait for the next turn. */
  readonly #turnQuestions = new Set<string>()

  constructor(host: RequestsHost) {
    this.#host = host
  }

  /** Reads a request. One that a user cannot answer is refused: Codex would wait forever without a response. */
  read(id: CodexRequestId, method: string, params: JsonObject, origin: ItemOrigin, relative: Relative): void {
    const { collector, items } = this.#host
    const key = JSON.stringify(id)
    const parent = defined({ parentCallId: origin.parent })
    const approval = toCodexQuestion(method, params, relative, items)
    if (approval !== undefined) {
      const { request, result } = approval
      if (collector.requestApproval(key, { ...request, ...parent }))
        this.#approvals.set(key, { id, origin, result })
      return
    }
    const input = toCodexInput(method, params)
    if (input !== undefined) {
      const { canDecline, request, result } = input
      if (typeof params["autoResolutionMs"] === "number") this.#timed.add(key)
      if (collector.requestInput(key, { ...request, ...parent }))
        this.#inputs.set(key, (response) => {
          const written = codexResponse(id, result(response))
          return response._tag === "Unanswered" && !canDecline
            ? written + this.#explain(origin, response.reason)
            : written
        })
      return
    }
    collector.countUnknown(method)
    const declined = unansweredResult(method)
    if (declined !== undefined)
      collector.notice("warning", "Codex asked for input that Corral cannot show.", parent)
    this.#reply(
      declined === undefined ? codexRefusal(id, `${method} is not supported`) : codexResponse(id, declined)
    )
  }

  /** Declines a request whose line is lost. */
  decline(id: CodexRequestId, method: string): void {
    this.#reply(declineLost(id, method))
  }

  /** Asks what the agent has left to the user at the end of its turn. The answer starts the next turn. */
  askForTurn(item: string, request: RequestedInput): void {
    const key = `item ${item}`
    if (!this.#host.collector.requestInput(key, request)) return
    this.#turnQuestions.add(key)
    this.#inputs.set(key, (response) => {
      this.#turnQuestions.delete(key)
      const message = messageOfResponse(request, response)
      return message === undefined ? undefined : this.#host.startTurn(message)
    })
  }

  /** A turn starts: questions that waited for it are over. */
  withdrawTurnQuestions(): void {
    for (const key of this.#turnQuestions) {
      this.#inputs.delete(key)
      this.#host.collector.withdrawInput(key, "withdrawn")
    }
    this.#turnQuestions.clear()
  }

  /** Codex no longer waits for a request. It reports the answered ones, too. */
  resolved(id: unknown): void {
    if (!isRequestId(id)) return
    const key = JSON.stringify(id)
    if (this.#approvals.delete(key))
      this.#host.collector.withdrawApproval(key, "the runtime no longer waits for it")
    if (this.#inputs.delete(key))
      this.#host.collector.withdrawInput(key, this.#timed.has(key) ? "self_answered" : "withdrawn")
  }

  /** The decision on an approval. A denial has no text: the reason follows as a message to the turn, which continues. */
  answer(key: string, { decision, reason }: ApprovalAnswer): string | undefined {
    const approval = this.#approvals.get(key)
    if (approval === undefined || !this.#host.collector.takeAnswer(key)) return undefined
    this.#approvals.delete(key)
    const response = codexResponse(approval.id, approval.result(decision))
    return decision === "deny" && reason !== undefined
      ? response + this.#explain(approval.origin, reason)
      : response
  }

  respond(key: string, response: InputResponse): string | undefined {
    const input = this.#inputs.get(key)
    if (input === undefined || !this.#host.collector.takeResponse(key)) return undefined
    this.#inputs.delete(key)
    return input(response)
  }

  /** A message to the turn of the agent itself. Sub-agents take none. */
  #explain({ parent, thread }: ItemOrigin, reason: string): string {
    return parent !== undefined || thread === undefined ? "" : this.#host.steer(thread, reason)
  }

  #reply(text: string): void {
    this.#host.collector.emit({ _tag: "Reply", text })
  }
}
