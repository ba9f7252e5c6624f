/**
 * What the agent leaves to the user at the end of a turn: its plan in the plan mode, or questions in its last message.
 *
 * Guarantees: a plan that is not handed over is a message.
 */
import type { RequestedInput } from "@corral/domain/input/InputRequest"
import { textOf, type JsonObject } from "../text/Json.ts"
import type { Items } from "./Items.ts"
import { planRequest, questionsInMessage } from "./Questions.ts"

export interface Handover {
  readonly item: string
  readonly request: RequestedInput
}

export class TurnEnd {
  readonly #items: Items
  readonly #isPlanMode: boolean
  #plan: JsonObject | undefined
  #questions: Handover | undefined

  constructor(items: Items, isPlanMode: boolean) {
    this.#items = items
    this.#isPlanMode = isPlanMode
  }

  /** Reads an item of the agent itself that is complete. Returns false for a plan, which is not a message yet. */
  read(item: JsonObject): boolean {
    const request = questionsInMessage(item)
    if (request !== undefined) this.#questions = { item: textOf(item["id"]) ?? "", request }
    if (!this.#isPlanMode || item["type"] !== "plan") return true
    this.discard()
    this.#plan = item
    return false
  }

  /** The turn has ended for another reason, or another plan follows. */
  discard(): void {
    if (this.#plan !== undefined) this.#items.completed(this.#plan)
    this.#plan = undefined
    this.#questions = undefined
  }

  /** Takes what waits for the user. */
  take(): Handover | undefined {
    const [plan, questions] = [this.#plan, this.#questions]
    this.#plan = undefined
    this.#questions = undefined
    const text = textOf(plan?.["text"])
    return text === undefined ? questions : { item: textOf(plan?.["id"]) ?? "", request: planRequest(text) }
  }
}
