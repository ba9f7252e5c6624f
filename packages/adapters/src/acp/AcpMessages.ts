/**
 * Messages of the agent itself and of each sub-agent, from chunks: text, tokens without a text, files and links. Agents stream messages without an
 * end: one ends when something else of the same agent follows.
 *
 * Message ids are our own. One agent gives a thought and the answer after it the same id, another sends no ids, and text after a tool call is a new
 * message regardless of its id.
 */
import { readBlock } from "../output/ContentBlocks.ts"
import { type OutputCollector, runtimeFailure } from "../output/OutputCollector.ts"
import { toRetryEvent } from "../output/ServiceFailure.ts"
import { objectOf, textOf } from "../text/Json.ts"
import type { AcpAgent } from "./AcpAgent.ts"
import { type ChunkMeta, MAX_UNKNOWN_NAME, type UnverifiedFields, parentCallIn } from "./AcpSchema.ts"
import type { TurnProgress } from "./AcpOutcome.ts"
import type { AcpUsage } from "./AcpUsage.ts"
import type { ToolCalls } from "./ToolCalls.ts"
import type * as Acp from "@agentclientprotocol/sdk"
import { draft } from "@corral/domain/run/RunEvent"
import type { UsageReport } from "@corral/domain/run/RuntimeAdapter"
import { firstCharacters } from "@corral/domain/text/Cut"

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
interface MessageChunk {
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

type ChunkKind = "agent_message_chunk" | "agent_thought_chunk"
type Chunk = UnverifiedFields<Acp.ContentChunk>

/** Parts of the reports that chunks change. */
interface ChunkTargets {
  readonly collector: OutputCollector
  readonly messages: AcpMessages
  readonly calls: ToolCalls
  readonly usage: AcpUsage
  readonly progress: TurnProgress
}

/** Chunks of messages in the reports of an agent: text, tokens without a text, files and links. */
export class ChunkReports {
  readonly #targets: ChunkTargets

  constructor(targets: ChunkTargets) {
    this.#targets = targets
  }

  /** Reads a chunk of a turn. The hot path: most reports are text. */
  read(kind: ChunkKind, chunk: Chunk): void {
    const { _meta, content, messageId } = chunk
    const { messages, usage } = this.#targets
    const { text, type }: UnverifiedFields<Acp.ContentBlock> = objectOf(content)
    if (type !== "text" || typeof text !== "string") return this.#readBlock(kind, chunk)
    // Some agents report tokens with an empty text.
    if (text === "") {
      const { usage: tokens }: UnverifiedFields<ChunkMeta> = objectOf(_meta)
      return this.report(usage.addTokens(objectOf(tokens)))
    }
    const parentCallId = _meta === undefined ? undefined : parentCallIn(_meta)
    const channel = kind === "agent_message_chunk" ? "text" : "reasoning"
    const part = { channel, text, agentId: textOf(messageId), parentCallId } as const
    if (parentCallId === undefined) this.#readText(part)
    else messages.addChunk(part)
  }

  report(report: UsageReport | undefined): void {
    if (report !== undefined) this.#targets.collector.emit({ _tag: "Usage", ...report })
  }

  /** Reads text of the agent itself. */
  #readText(chunk: MessageChunk): void {
    const { agentId, channel, text } = chunk
    const { calls, messages, progress } = this.#targets
    calls.openAll()
    calls.closeDenied()
    // After the agent reports that the turn failed, its text says why.
    if (channel === "text" && progress.failure !== undefined && agentId === undefined) {
      progress.failure += text
      return messages.emitProgramText(text)
    }
    if (channel === "text") progress.write()
    if (messages.addChunk(chunk)) progress.proceed()
  }

  /** Reads a chunk that is not text: a file of the agent, or a link. */
  #readBlock(kind: ChunkKind, { _meta, content, messageId }: Chunk): void {
    const { collector, messages } = this.#targets
    const shown = readBlock(content)
    if (shown === undefined) {
      const type = textOf(objectOf(content)["type"]) ?? "untyped"
      return collector.countUnknown(`${kind}/${firstCharacters(type, MAX_UNKNOWN_NAME)}`)
    }
    if ("file" in shown) return collector.artifact(shown.file)
    const parentCallId = parentCallIn(_meta)
    messages.addChunk({ channel: "text", text: shown.text, agentId: textOf(messageId), parentCallId })
  }
}
