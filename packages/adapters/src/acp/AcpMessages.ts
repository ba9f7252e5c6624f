/**
 * Messages from chunks, of the agent itself and of each sub-agent. Agents stream them without an end: a message ends when something else of the
 * same agent follows.
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
/** Most messages that are open at a time. */
const MAX_OPEN = 1_000

const parentOf = (parentCallId: string | undefined) => (parentCallId === undefined ? {} : { parentCallId })

interface OpenMessage {
  readonly messageId: string
  readonly channel: Channel
  /** The agent's id of the message, if it has one. */
  readonly agentId: string | undefined
  text: string
  chunks: number
}

/** A chunk of a message. `parentCallId` is the call of the sub-agent that wrote it. */
export interface MessageChunk {
  readonly channel: Channel
  readonly text: string
  /** The agent's id of the message, if it has one. */
  readonly agentId: string | undefined
  readonly parentCallId: string | undefined
}

export class AcpMessages {
  readonly #collector: OutputCollector
  readonly #agent: AcpAgent
  /** Open messages by the call of their sub-agent, `undefined` for the agent itself. */
  readonly #open = new Map<string | undefined, OpenMessage>()
  #count = 0
  /** The agent's own last complete text of this turn. */
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
  addChunk({ agentId, channel, parentCallId, text }: MessageChunk): boolean {
    if (text === "") return false
    const { asides, failsInWords } = this.#agent
    if (asides?.test(text) === true) {
      this.emitProgramText(text)
      return false
    }
    const open = this.#open.get(parentCallId)
    if (open !== undefined && (open.channel !== channel || open.agentId !== agentId)) this.close(parentCallId)
    else if (failsInWords?.test(text) === true) this.close(parentCallId)
    const message = this.#openMessage(channel, agentId, parentCallId)
    const { messageId } = message
    message.text += text
    message.chunks++
    this.#collector.emitEvent(
      draft("run.message.delta", { messageId, channel, text, ...parentOf(parentCallId) })
    )
    if (message.text.length > MAX_CHARACTERS) this.close(parentCallId)
    return true
  }

  #openMessage(channel: Channel, agentId: string | undefined, parentCallId: string | undefined): OpenMessage {
    const open = this.#open.get(parentCallId)
    if (open !== undefined) return open
    if (this.#open.size >= MAX_OPEN) this.closeAll()
    const message = { messageId: this.#nextId(), channel, agentId, text: "", chunks: 0 }
    this.#open.set(parentCallId, message)
    return message
  }

  /** Completes the open message of the agent itself, or of a sub-agent. */
  close(parentCallId?: string): void {
    const open = this.#open.get(parentCallId)
    if (open === undefined) return
    this.#open.delete(parentCallId)
    const { agentId, channel, chunks, messageId, text } = open
    if (channel === "text" && parentCallId === undefined) {
      this.lastText = text
      const isNamed = this.#agent.namesMessages === true && agentId !== undefined
      this.lastSingleChunk = chunks === 1 && !isNamed ? text : undefined
    }
    this.#collector.emitEvent(
      draft("run.message.completed", {
        messageId,
        role: "assistant",
        channel,
        text,
        ...parentOf(parentCallId)
      })
    )
  }

  /** Completes all open messages. */
  closeAll(): void {
    for (const parentCallId of this.#open.keys()) this.close(parentCallId)
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
