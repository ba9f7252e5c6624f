/**
 * Streamed messages of a run that are not completed yet. The run also completes a message that a cancel or a broken stream ends in the
 * middle.
 *
 * Holds the first `MAX_CHARACTERS` of a message's text and counts the rest. The deltas have the whole text.
 */
import { Buffer } from "node:buffer"
import { draft, type DraftOf, type PayloadOf } from "@corral/domain/run/RunEvent"

type Delta = PayloadOf<"run.message.delta">

/** More than one event holds: the rest of a completed text would be cut. */
const MAX_CHARACTERS = 200_000
/** Distinct messages that are open together; a runtime with more of them names them badly. */
const MAX_OPEN = 1_000

interface OpenMessage {
  readonly first: Delta
  text: string
  /** Bytes that were streamed and are not in `text`. */
  omitted: number
  /** UTF-16 units that were streamed, in `text` or not. */
  length: number
}

export class OpenMessages {
  readonly #open = new Map<string, OpenMessage>()
  /** The message of the last delta: most deltas continue it. */
  #last: OpenMessage | undefined

  /** The hot path. */
  streamed(delta: Delta): void {
    const message = this.#last?.first.messageId === delta.messageId ? this.#last : this.#of(delta)
    if (message.text.length < MAX_CHARACTERS) message.text += delta.text
    else message.omitted += Buffer.byteLength(delta.text)
    message.length += delta.text.length
  }

  #of(delta: Delta): OpenMessage {
    let message = this.#open.get(delta.messageId)
    if (message === undefined) {
      message = { first: delta, text: "", omitted: 0, length: 0 }
      if (this.#open.size < MAX_OPEN) this.#open.set(delta.messageId, message)
    }
    this.#last = message
    return message
  }

  /**
   * The message is whole: the end of it that was not streamed, empty where it says anything else than what was; `undefined` where none of
   * it was streamed.
   */
  completed(messageId: string, whole: string): string | undefined {
    const message = this.#open.get(messageId)
    this.#open.delete(messageId)
    if (this.#last?.first.messageId === messageId) this.#last = undefined
    if (message === undefined) return undefined
    return whole.startsWith(message.text) ? whole.slice(message.length) : ""
  }

  /** Completes what is open with what was streamed of it. */
  takeAll(): ReadonlyArray<DraftOf<"run.message.completed">> {
    if (this.#open.size === 0) return []
    const messages = [...this.#open.values()]
    this.#open.clear()
    this.#last = undefined
    return messages.map(({ first, omitted, text }) => {
      const cut =
        omitted === 0 ? {} : { truncated: true as const, totalBytes: Buffer.byteLength(text) + omitted }
      return draft("run.message.completed", { ...first, role: "assistant", text, ...cut })
    })
  }
}
