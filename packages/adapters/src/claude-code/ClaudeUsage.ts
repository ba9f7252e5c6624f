/**
 * Usage of a turn of Claude Code so far, from the frames of its stream. The result has the total only at the end of the turn.
 *
 * Includes the tokens of sub-agents. Only the agent's own replies count as turns, as in the result.
 */
import type { Usage } from "@corral/domain/run/Run"
import { countOf, objectOf, type JsonObject } from "../text/Json.ts"
import { tokensOf } from "./ClaudeOutcome.ts"

export class ClaudeUsage {
  #input = 0
  #output = 0
  #cached = 0
  #turns = 0

  /** Follows a frame of the stream. Returns the turn's usage if the frame ends a reply. */
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

  /** Starts the next turn. */
  reset(): void {
    this.#input = this.#output = this.#cached = this.#turns = 0
  }
}
