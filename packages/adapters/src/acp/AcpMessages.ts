/**
 * Messages from chunks. Agents stream them without an end: a message ends when something else follows.
 *
 * Message ids are our own. One agent gives a thought and the answer after it the same id, another sends no ids, and text after a tool
 * call is a new message regardless of its id.
 */
import { draft } from "@corral/domain/run/RunEvent"
import { runtimeFailure, type OutputCollector } from "../output/OutputCollector.ts"
import { toRetryEvent } from "../output/RetryEvent.ts"
import type { AcpAgent } from "./AcpAgent.ts"

type Channel = "text" | "reasoning"

/** A longer message is split: its text is held in memory. */
const MAX_CHARACTERS = 60_000

interface OpenMessage {
  readonly messageId: string
  readonly channel: Channel
  /** The agent's id of the message, if it has one. */
  readonly agentId: string | undefined
  text: string
  chunks: number
}

export class AcpMessages {
  readonly #collector: OutputCollector
  readonly #agent: AcpAgent
  #open: OpenMessage | undefined
  #count = 0
  /** The last complete text of this turn. */
  lastText: string | undefined
  /** The same, if it came in one chunk. Text of the program does, an answer of a model rarely does. */
  lastSingleChunk: string | undefined

  constructor(collector: OutputCollector, agent: AcpAgent) {
    this.#collector = collector
    this.#agent = agent
  }

  /** Forgets the messages of the previous turn. */
  beginTurn(): void {
    this.lastText = undefined
    this.lastSingleChunk = undefined
  }

  /** Adds a chunk. Returns false if its text is not the model's. */
  addChunk(channel: Channel, text: string, agentId: string | undefined): boolean {
    if (text === "") return false
    const { asides, failsInWords } = this.#agent
    if (asides?.test(text) === true) {
      this.emitProgramText(text)
      return false
    }
    const open = this.#open
    if (open !== undefined && (open.channel !== channel || open.agentId !== agentId)) this.close()
    else if (failsInWords?.test(text) === true) this.close()
    this.#open ??= { messageId: this.#nextId(), channel, agentId, text: "", chunks: 0 }
    this.#open.text += text
    this.#open.chunks++
    this.#collector.emitEvent(draft("run.message.delta", { messageId: this.#open.messageId, channel, text }))
    if (this.#open.text.length > MAX_CHARACTERS) this.close()
    return true
  }

  /** Completes the open message. */
  close(): void {
    if (this.#open === undefined) return
    const { agentId, channel, chunks, messageId, text } = this.#open
    this.#open = undefined
    if (channel === "text") {
      this.lastText = text
      const isNamed = this.#agent.namesMessages === true && agentId !== undefined
      this.lastSingleChunk = chunks === 1 && !isNamed ? text : undefined
    }
    this.#collector.emitEvent(draft("run.message.completed", { messageId, role: "assistant", channel, text }))
  }

  /** Emits text of the program, not of the model. */
  emitProgramText(text: string): void {
    this.close()
    if (this.#agent.retriesInWords?.test(text) === true)
      this.#collector.emitEvent(toRetryEvent({ failure: runtimeFailure("unknown", text, { said: text }) }))
    const messageId = this.#nextId()
    this.#collector.emitEvent(
      draft("run.message.completed", { messageId, role: "system", channel: "text", text })
    )
  }

  #nextId(): string {
    return `message-${++this.#count}`
  }
}
