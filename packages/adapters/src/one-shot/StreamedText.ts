/**
 * Messages of a program that prints pieces and never the whole: a message is open while pieces of one channel come, and is closed by
 * whatever else comes.
 */
import { draft, type PayloadOf } from "@corral/domain/run/RunEvent"
import type { OutputCollector } from "../output/OutputCollector.ts"

type Channel = PayloadOf<"run.message.delta">["channel"]

/** A message is closed after this many characters, and the next piece opens another: nothing grows without bound. */
const MESSAGE_CHARACTERS = 1_000_000

export class StreamedText {
  readonly #collector: OutputCollector
  #number = 0
  #open: { readonly messageId: string; readonly channel: Channel; text: string } | undefined
  #last: string | undefined

  constructor(collector: OutputCollector) {
    this.#collector = collector
  }

  /** The last whole message of text. */
  get last(): string | undefined {
    return this.#last
  }

  piece(channel: Channel, text: string): void {
    if (text === "") return
    if (this.#open !== undefined && this.#open.channel !== channel) this.close()
    this.#open ??= { messageId: this.#nextId(), channel, text: "" }
    this.#open.text += text
    this.#collector.emitEvent(draft("run.message.delta", { messageId: this.#open.messageId, channel, text }))
    if (this.#open.text.length > MESSAGE_CHARACTERS) this.close()
  }

  /** A message that came whole: the end of the one that streamed where both say the same. */
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
    if (channel === "text") this.#last = text
    this.#collector.emitEvent(draft("run.message.completed", { messageId, role: "assistant", channel, text }))
  }
}
