/**
 * What the agent leaves to the user at the end of a turn: its plan in the plan mode, or questions in its messages.
 *
 * Guarantees: a plan that is not handed over is a message, and no question of the turn is left out.
 */
import type { Question, RequestedInput } from "@corral/domain/input/InputRequest"
import { textOf, type JsonObject } from "../text/Json.ts"
import type { Items } from "./Items.ts"
import { planRequest, questionsInMessage, requestOfMessages } from "./Questions.ts"

export interface Handover {
  readonly item: string
  readonly request: RequestedInput
}

export class TurnEnd {
  readonly #items: Items
  readonly #isPlanMode: boolean
  #plan: JsonObject | undefined
  #questions: ReadonlyArray<Question> = []
  /** The last message with a question. */
  #message = ""

  constructor(items: Items, isPlanMode: boolean) {
    this.#items = items
    this.#isPlanMode = isPlanMode
  }

  /** Reads an item of the agent itself that is complete. Returns false for a plan, which is not a message yet. */
  read(item: JsonObject): boolean {
    const questions = questionsInMessage(item)
    if (questions.length > 0) this.#message = textOf(item["id"]) ?? ""
    this.#questions = [...this.#questions, ...questions]
    if (!this.#isPlanMode || item["type"] !== "plan") return true
    this.discard()
    this.#plan = item
    return false
  }

  /** The turn has ended for another reason, or another plan follows. */
  discard(): void {
    if (this.#plan !== undefined) this.#items.completed(this.#plan)
    this.#plan = undefined
    this.#questions = []
  }

  /** Takes what waits for the user. */
  take(): Handover | undefined {
    const [plan, request] = [this.#plan, requestOfMessages(this.#questions)]
    this.#plan = undefined
    this.#questions = []
    const text = textOf(plan?.["text"])
    if (text !== undefined) return { item: textOf(plan?.["id"]) ?? "", request: planRequest(text) }
    return request === undefined ? undefined : { item: this.#message, request }
  }
}
