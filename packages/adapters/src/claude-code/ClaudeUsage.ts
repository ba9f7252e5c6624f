/**
 * What a turn of Claude Code has used so far, from the frames of its stream: the result tells the whole only when the turn is over.
 *
 * Sub-agents spend too; only the agent's own replies count as turns, as in the result.
 */
import type { Usage } from "@corral/domain/run/Run"
import { countOf, objectOf, type JsonObject } from "../text/Json.ts"
import { tokensOf } from "./ClaudeOutcome.ts"

export class ClaudeUsage {
  #input = 0
  #output = 0
  #cached = 0
  #turns = 0

  /** Follows a frame of a stream; gives what the turn has used where the frame closes a reply. */
  follow(event: JsonObject, ofSubAgent: boolean): Usage | undefined {
    switch (event["type"]) {
      case "message_start": {
        const { inputTokens = 0, cachedInputTokens = 0 } = tokensOf(
          objectOf(objectOf(event["message"])["usage"])
        )
        this.#input += inputTokens
        this.#cached += cachedInputTokens
        return undefined
      }
      case "message_delta":
        this.#output += countOf(objectOf(event["usage"])["output_tokens"]) ?? 0
        if (!ofSubAgent) this.#turns++
        return {
          inputTokens: this.#input,
          outputTokens: this.#output,
          cachedInputTokens: this.#cached,
          turns: this.#turns
        }
      default:
        return undefined
    }
  }

  /** The turn is over and its result has told the whole. */
  reset(): void {
    this.#input = this.#output = this.#cached = this.#turns = 0
  }
}
