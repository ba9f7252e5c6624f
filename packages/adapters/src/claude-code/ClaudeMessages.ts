/**
 * Names for the messages of Claude Code: a delta and the whole text it belongs to get the same id.
 *
 * The runtime prints one `assistant` line for each content block, all under one message id, and streams the blocks by index. Sub-agents
 * stream beside their parent, told apart by the call that started them.
 */
import { countOf, objectOf, textOf, type JsonObject } from "../text/Json.ts"

interface Streaming {
  readonly messageId: string
  index: number
}

export class ClaudeMessages {
  /** What streams now, by the call of the sub-agent (`""` for the agent itself). */
  readonly #streaming = new Map<string, Streaming>()
  /** Blocks printed of the last message that did not stream, by the same key. */
  readonly #printed = new Map<string, { readonly messageId: string; blocks: number }>()

  /** Follows the frame of a stream: which message, which block. */
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

  /** The id of the block that a delta belongs to. */
  ofDelta(event: JsonObject, parent: string): string {
    const streaming = this.#streaming.get(parent)
    return `${streaming?.messageId ?? "message"}:${countOf(event["index"]) ?? streaming?.index ?? 0}`
  }

  /** The id of a block that is printed whole. */
  ofBlock(messageId: string, parent: string): string {
    const streaming = this.#streaming.get(parent)
    if (streaming?.messageId === messageId) return `${messageId}:${streaming.index}`
    const printed = this.#printed.get(parent)
    const blocks = printed?.messageId === messageId ? printed.blocks : 0
    this.#printed.set(parent, { messageId, blocks: blocks + 1 })
    return `${messageId}:${blocks}`
  }
}
