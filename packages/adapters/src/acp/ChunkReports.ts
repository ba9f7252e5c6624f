/**
 * Chunks of messages in the reports of an agent: text, tokens without a text, files and links.
 */
import { firstCharacters } from "@corral/domain/text/Cut"
import type * as Acp from "@agentclientprotocol/sdk"
import type { OutputCollector } from "../output/OutputCollector.ts"
import { readBlock } from "../output/ContentBlocks.ts"
import { objectOf, textOf } from "../text/Json.ts"
import type { ChunkMeta } from "./AcpExtensions.ts"
import type { AcpMessages, MessageChunk } from "./AcpMessages.ts"
import { MAX_UNKNOWN_NAME } from "./AcpNames.ts"
import type { AcpUsage } from "./AcpUsage.ts"
import { parentCallIn } from "./Nesting.ts"
import type { ToolCalls } from "./ToolCalls.ts"
import type { TurnProgress } from "./TurnProgress.ts"
import type { UnverifiedFields } from "./UnverifiedFields.ts"

export type ChunkKind = "agent_message_chunk" | "agent_thought_chunk"
type Chunk = UnverifiedFields<Acp.ContentChunk>

/** Parts of the reports that chunks change. */
export interface ChunkTargets {
  readonly collector: OutputCollector
  readonly messages: AcpMessages
  readonly calls: ToolCalls
  readonly usage: AcpUsage
  readonly progress: TurnProgress
}

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
      if (usage.addTokens(objectOf(tokens))) this.emitUsage()
      return
    }
    const parentCallId = _meta === undefined ? undefined : parentCallIn(_meta)
    const channel = kind === "agent_message_chunk" ? "text" : "reasoning"
    const part = { channel, text, agentId: textOf(messageId), parentCallId } as const
    if (parentCallId === undefined) this.#readText(part)
    else messages.addChunk(part)
  }

  emitUsage(): void {
    const { collector, usage } = this.#targets
    if (usage.usage !== undefined) collector.emit({ _tag: "Usage", usage: usage.usage })
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
