/**
 * Messages of a program that prints pieces without completed messages. A message ends when a piece of another channel or any other line
 * follows.
 */
import { draft, type PayloadOf } from "@corral/domain/run/RunEvent"
import type { OutputCollector } from "../output/OutputCollector.ts"

type Channel = PayloadOf<"run.message.delta">["channel"]

/** Maximum length of a message. The next piece starts another, so that memory is bounded. */
const MESSAGE_CHARACTERS = 1_000_000

export class StreamedText {
  readonly #collector: OutputCollector
  #number = 0
  #open: { readonly messageId: string; readonly channel: Channel; text: string } | undefined
  #lastText: string | undefined

  constructor(collector: OutputCollector) {
    this.#collector = collector
  }

  /** The last completed message with text. */
  get last(): string | undefined {
    return this.#lastText
  }

  piece(channel: Channel, text: string): void {
    if (text === "") return
    if (this.#open !== undefined && this.#open.channel !== channel) this.close()
    this.#open ??= { messageId: this.#nextId(), channel, text: "" }
    this.#open.text += text
    this.#collector.emitEvent(draft("run.message.delta", { messageId: this.#open.messageId, channel, text }))
    if (this.#open.text.length > MESSAGE_CHARACTERS) this.close()
  }

  /** Adds a whole message. It completes the open message if both have the same text. */
  whole(channel: Channel, text: string, messageId?: string): void {
    const streamed = this.#open
    this.close()
    if (streamed?.channel === channel && streamed.text === text) return
    this.#complete(messageId ?? this.#nextId(), channel, text)
  }

  close(): void {
    const open = this.#open
    if (open === undefined) return
    this.#open = undefined
    this.#complete(open.messageId, open.channel, open.text)
  }

  #nextId(): string {
    this.#number++
    return `message-${this.#number}`
  }

  #complete(messageId: string, channel: Channel, text: string): void {
    if (channel === "text") this.#lastText = text
    this.#collector.emitEvent(draft("run.message.completed", { messageId, role: "assistant", channel, text }))
  }
}
