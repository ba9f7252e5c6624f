/**
 * Message ids for Claude Code: the deltas of a text and its completed message have the same id.
 *
 * The runtime prints one `assistant` line per content block, all with one message id, and streams the blocks by index. Sub-agents stream at
 * the same time as their parent, identified by the call that started them.
 */
import { countOf, objectOf, textOf, type JsonObject } from "../text/Json.ts"

interface Streaming {
  readonly messageId: string
  index: number
}

export class ClaudeMessages {
  /** Messages that are streamed now, by the call of the sub-agent (`""` for the agent itself). */
  readonly #streaming = new Map<string, Streaming>()
  /** Number of printed blocks of the last message without a stream, by the same key. */
  readonly #unstreamed = new Map<string, { readonly messageId: string; blocks: number }>()

  /** Follows a frame of the stream: the current message and block. */
  follow(event: JsonObject, parent: string): void {
    switch (event["type"]) {
      case "message_start":
        this.#streaming.set(parent, {
          messageId: textOf(objectOf(event["message"])["id"]) ?? "message",
          index: 0
        })
        return
      case "content_block_start": {
        const streaming = this.#streaming.get(parent)
        if (streaming !== undefined) streaming.index = countOf(event["index"]) ?? streaming.index
        return
      }
      case "message_stop":
        this.#streaming.delete(parent)
        return
    }
  }

  /** Id of the block that a delta belongs to. */
  ofDelta(event: JsonObject, parent: string): string {
    const streaming = this.#streaming.get(parent)
    return `${streaming?.messageId ?? "message"}:${countOf(event["index"]) ?? streaming?.index ?? 0}`
  }

  /** Id of a completed block. */
  ofBlock(messageId: string, parent: string): string {
    const streaming = this.#streaming.get(parent)
    if (streaming?.messageId === messageId) return `${messageId}:${streaming.index}`
    const printed = this.#unstreamed.get(parent)
    const blocks = printed?.messageId === messageId ? printed.blocks : 0
    this.#unstreamed.set(parent, { messageId, blocks: blocks + 1 })
    return `${messageId}:${blocks}`
  }
}
