/**
 * Streamed messages of a run that are not completed yet. A message that a cancel or a broken stream interrupts is completed too.
 *
 * Holds the first `MAX_CHARACTERS` of a message's text and counts the rest. The deltas have the whole text.
 */
import { Buffer } from "node:buffer"
import { draft, type DraftOf, type PayloadOf } from "@corral/domain/run/RunEvent"

type Delta = PayloadOf<"run.message.delta">

/** More than one event can hold: the rest of a completed text would be cut. */
const MAX_CHARACTERS = 200_000
/** Maximum number of open messages. A runtime with more does not reuse ids correctly. */
const MAX_OPEN = 1_000

interface OpenMessage {
  readonly first: Delta
  text: string
  /** Streamed bytes that are not in `text`. */
  omitted: number
  /** Streamed UTF-16 units, in `text` or not. */
  length: number
}

export class OpenMessages {
  readonly #open = new Map<string, OpenMessage>()
  /** The message of the last delta: most deltas continue it. */
  #lastMessage: OpenMessage | undefined

  /** Adds a delta. The hot path. */
  streamed(delta: Delta): void {
    const message =
      this.#lastMessage?.first.messageId === delta.messageId ? this.#lastMessage : this.#find(delta)
    if (message.text.length < MAX_CHARACTERS) message.text += delta.text
    else message.omitted += Buffer.byteLength(delta.text)
    message.length += delta.text.length
  }

  #find(delta: Delta): OpenMessage {
    let message = this.#open.get(delta.messageId)
    if (message === undefined) {
      message = { first: delta, text: "", omitted: 0, length: 0 }
      if (this.#open.size < MAX_OPEN) this.#open.set(delta.messageId, message)
    }
    this.#lastMessage = message
    return message
  }

  /**
   * Completes a message with its whole text. Returns the end of the text that was not streamed, or an empty text if the stream differs;
   * `undefined` if nothing was streamed.
   */
  completed(messageId: string, whole: string): string | undefined {
    const message = this.#open.get(messageId)
    this.#open.delete(messageId)
    if (this.#lastMessage?.first.messageId === messageId) this.#lastMessage = undefined
    if (message === undefined) return undefined
    return whole.startsWith(message.text) ? whole.slice(message.length) : ""
  }

  /** Completes the open messages of the agent itself, not of its sub-agents, with their streamed text. */
  takeOwn(): ReadonlyArray<DraftOf<"run.message.completed">> {
    return this.#take(({ first }) => first.parentCallId === undefined)
  }

  /** Completes the open messages whose id starts with `prefix` with their streamed text. */
  takeAll(prefix = ""): ReadonlyArray<DraftOf<"run.message.completed">> {
    return this.#take(({ first }) => first.messageId.startsWith(prefix))
  }

  #take(isTaken: (message: OpenMessage) => boolean): ReadonlyArray<DraftOf<"run.message.completed">> {
    if (this.#open.size === 0) return []
    const messages = [...this.#open.values()].filter(isTaken)
    for (const { first } of messages) this.#open.delete(first.messageId)
    this.#lastMessage = undefined
    return messages.map(({ first, omitted, text }) => {
      const cut =
        omitted === 0 ? {} : { truncated: true as const, totalBytes: Buffer.byteLength(text) + omitted }
      return draft("run.message.completed", { ...first, role: "assistant", text, ...cut })
    })
  }
}
