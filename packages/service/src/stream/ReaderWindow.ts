/**
 * What one reader has confirmed of the bytes that were sent to it.
 *
 * The kernel buffers megabytes for a socket, so an accepted write says nothing about its reader. A ping carries the position of the bytes before it,
 * and every WebSocket client answers with the same payload.
 *
 * Guarantees: one ping per half a window. A reader that does not answer is full once, and slow from then on.
 *
 * Does not: hold back what is sent. Its owner decides what waits for a full reader. A reader that confirms more than it has read
 * only gives up its own window.
 */

/** Bytes on the way to a reader from which on it is full. */
export const READER_WINDOW = 393_216
/** Milliseconds without progress from which on a full reader is slow. */
export const SLOW_AFTER_MS = 200

const POSITION_BYTES = 6

export class ReaderWindow {
  /** Called when a full reader has room. */
  onRoom: () => void = doNothing
  readonly #now: () => number
  /** Positions in the bytes of the stream. */
  #sent = 0
  #requested = 0
  #confirmed = 0
  /** Unix milliseconds since when the reader is full, or of its last progress since. */
  #fullSince = 0

  constructor(now: () => number) {
    this.#now = now
  }

  /** `slow`: full for a time without progress. */
  get state(): "room" | "full" | "slow" {
    if (!this.#isFull) return "room"
    return this.#now() - this.#fullSince < SLOW_AFTER_MS ? "full" : "slow"
  }

  /** Counts bytes that are sent. Returns the payload of a ping to send after them, if the reader must confirm them. */
  count(bytes: number): Buffer | undefined {
    const wasFull = this.#isFull
    this.#sent += bytes
    if (!wasFull && this.#isFull) this.#fullSince = this.#now()
    if (this.#sent - this.#requested < READER_WINDOW / 2) return undefined
    this.#requested = this.#sent
    const position = Buffer.allocUnsafe(POSITION_BYTES)
    position.writeUIntBE(this.#sent, 0, POSITION_BYTES)
    return position
  }

  /** Processes the payload of a pong. Other payloads and earlier positions confirm nothing. */
  confirm(payload: Buffer): void {
    if (payload.length !== POSITION_BYTES) return
    const position = payload.readUIntBE(0, POSITION_BYTES)
    if (position <= this.#confirmed || position > this.#requested) return
    const wasFull = this.#isFull
    this.#confirmed = position
    if (this.#isFull) this.#fullSince = this.#now()
    else if (wasFull) this.onRoom()
  }

  get #isFull(): boolean {
    return this.#sent - this.#confirmed >= READER_WINDOW
  }
}

const doNothing = (): void => undefined
