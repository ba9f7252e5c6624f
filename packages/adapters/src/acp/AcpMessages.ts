/**
 * Chunks → messages. Agents stream and never say that a message is whole: it is when something else follows.
 *
 * Names are our own. One agent gives a thought and the answer after it the same id, another none at all, and text that follows a tool call is
 * another message whatever its id.
 */
import { draft } from "@corral/domain/run/RunEvent"
import { runtimeFailure, type OutputCollector } from "../output/OutputCollector.ts"
import { toRetryEvent } from "../output/RetryEvent.ts"
import type { AcpAgent } from "./AcpAgent.ts"

type Channel = "text" | "reasoning"

/** A longer message is closed and another opened: a turn's text is held in memory. */
const MAX_CHARACTERS = 60_000

interface Open {
  readonly messageId: string
  readonly channel: Channel
  /** The agent's own id of it, where it has one. */
  readonly theirs: string | undefined
  text: string
  chunks: number
}

export class AcpMessages {
  readonly #collector: OutputCollector
  readonly #agent: AcpAgent
  #open: Open | undefined
  #count = 0
  /** The last whole text of this turn. */
  last: string | undefined
  /** The same, where it came in one chunk: a model's answer rarely does, the program's own words do. */
  lone: string | undefined

  constructor(collector: OutputCollector, agent: AcpAgent) {
    this.#collector = collector
    this.#agent = agent
  }

  /** A turn begins: nothing has been said in it. */
  begin(): void {
    this.last = undefined
    this.lone = undefined
  }

  /** Takes a chunk; false where the words are not the model's. */
  chunk(channel: Channel, text: string, theirs: string | undefined): boolean {
    if (text === "") return false
    const { asides, failsInWords } = this.#agent
    if (asides?.test(text) === true) {
      this.aside(text)
      return false
    }
    const open = this.#open
    if (open !== undefined && (open.channel !== channel || open.theirs !== theirs)) this.close()
    else if (failsInWords?.test(text) === true) this.close()
    this.#open ??= { messageId: this.#next(), channel, theirs, text: "", chunks: 0 }
    this.#open.text += text
    this.#open.chunks++
    this.#collector.emitEvent(draft("run.message.delta", { messageId: this.#open.messageId, channel, text }))
    if (this.#open.text.length > MAX_CHARACTERS) this.close()
    return true
  }

  /** Something else follows. */
  close(): void {
    if (this.#open === undefined) return
    const { channel, chunks, messageId, text, theirs } = this.#open
    this.#open = undefined
    if (channel === "text") {
      this.last = text
      const isNamed = this.#agent.namesMessages === true && theirs !== undefined
      this.lone = chunks === 1 && !isNamed ? text : undefined
    }
    this.#collector.emitEvent(draft("run.message.completed", { messageId, role: "assistant", channel, text }))
  }

  /** Words of the program between those of the model. */
  aside(text: string): void {
    this.close()
    if (this.#agent.retriesInWords?.test(text) === true)
      this.#collector.emitEvent(toRetryEvent({ failure: runtimeFailure("unknown", text, { said: text }) }))
    const messageId = this.#next()
    this.#collector.emitEvent(
      draft("run.message.completed", { messageId, role: "system", channel: "text", text })
    )
  }

  #next(): string {
    return `message-${++this.#count}`
  }
}
