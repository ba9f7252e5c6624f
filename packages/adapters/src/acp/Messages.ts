/**
 * Chunks → messages. Agents stream and never say that a message is whole: it is when something else follows.
 *
 * Names are our own. One agent gives a thought and the answer after it the same id, another none at all, and text that follows a tool call is
 * another message whatever its id.
 */
import { draft } from "@corral/domain/RunEvent"
import type { Turn } from "../Turn.ts"

type Channel = "text" | "reasoning"

/** A longer message is closed and another opened: a turn's text is held in memory. */
const MAX_CHARACTERS = 60_000

interface Open {
  readonly messageId: string
  readonly channel: Channel
  /** The agent's own id of it, where it has one. */
  readonly theirs: string | undefined
  text: string
}

export class Messages {
  readonly #turn: Turn
  #open: Open | undefined
  #count = 0
  /** The last whole text of this turn. */
  last: string | undefined

  constructor(turn: Turn) {
    this.#turn = turn
  }

  /** A turn begins: nothing has been said in it. */
  begin(): void {
    this.last = undefined
  }

  chunk(channel: Channel, text: string, theirs: string | undefined): void {
    if (text === "") return
    const open = this.#open
    if (open !== undefined && (open.channel !== channel || open.theirs !== theirs)) this.close()
    this.#open ??= { messageId: `message-${++this.#count}`, channel, theirs, text: "" }
    this.#open.text += text
    this.#turn.say(draft("run.message.delta", { messageId: this.#open.messageId, channel, text }))
    if (this.#open.text.length > MAX_CHARACTERS) this.close()
  }

  /** Something else follows. */
  close(): void {
    if (this.#open === undefined) return
    const { channel, messageId, text } = this.#open
    this.#open = undefined
    if (channel === "text") this.last = text
    this.#turn.say(draft("run.message.completed", { messageId, role: "assistant", channel, text }))
  }
}
