/** Texts and thoughts of OpenCode's messages. A part is streamed in pieces and then completed. */
import { draft } from "@corral/domain/run/RunEvent"
import type { OutputCollector } from "../output/OutputCollector.ts"
import { defined, objectOf, textOf, type JsonObject } from "../text/Json.ts"

type Channel = "text" | "reasoning"

export class TextParts {
  readonly #collector: OutputCollector
  /** Messages of the user, and prompts of sub-agents. */
  readonly #prompts = new Set<string>()
  readonly #open = new Map<string, Channel>()
  readonly #completed = new Set<string>()
  #last: string | undefined

  constructor(collector: OutputCollector) {
    this.#collector = collector
  }

  /** The last text of the conversation in this turn. */
  get last(): string | undefined {
    return this.#last
  }

  startTurn(): void {
    this.#last = undefined
  }

  readMessage({ id, role }: JsonObject): void {
    if (role !== "assistant" && typeof id === "string") this.#prompts.add(id)
  }

  /** The hot path. */
  readDelta({ delta, field, partID }: JsonObject, parentCallId: string | undefined): void {
    const channel = typeof partID === "string" ? this.#open.get(partID) : undefined
    if (typeof partID !== "string" || channel === undefined || field !== "text") return
    if (typeof delta !== "string" || delta === "") return
    const payload = { messageId: partID, channel, text: delta }
    this.#collector.emitEvent(
      draft("run.message.delta", parentCallId === undefined ? payload : { ...payload, parentCallId })
    )
  }

  read(part: JsonObject, parentCallId: string | undefined): void {
    const [id, message, text] = [textOf(part["id"]), textOf(part["messageID"]), textOf(part["text"]) ?? ""]
    if (id === undefined || message === undefined || this.#prompts.has(message) || part["synthetic"] === true)
      return
    const channel = part["type"] === "text" ? "text" : "reasoning"
    if (this.#completed.has(id)) return
    if (objectOf(part["time"])["end"] === undefined) return void this.#open.set(id, channel)
    this.#open.delete(id)
    this.#completed.add(id)
    if (text === "") return
    if (channel === "text" && parentCallId === undefined) this.#last = text
    this.#collector.emitEvent(
      draft("run.message.completed", {
        messageId: id,
        role: "assistant",
        channel,
        text,
        ...defined({ parentCallId })
      })
    )
  }
}
