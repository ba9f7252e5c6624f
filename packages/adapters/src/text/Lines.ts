/**
 * Lines from bytes, synchronously and in linear time: the first step for all output of a runtime.
 *
 * Guarantees: the same bytes give the same lines for any chunking. Invalid UTF-8 becomes U+FFFD. Of a line over the limit only the head is kept.
 * Does not: throw, skip empty lines, or interpret a line.
 */
import { Buffer } from "node:buffer"

export type Line =
  /** A complete line without its `\n` or `\r\n`. `bytes` is its length as printed, without the line end. */
  | { readonly _tag: "Line"; readonly text: string; readonly bytes: number }
  /** A line over the limit. `head` is the text of its first bytes, at most `HEAD_BYTES`. The last character may be incomplete. */
  | { readonly _tag: "TooLong"; readonly head: string; readonly bytes: number }
  /** Text after the last `\n` at the end of the output. */
  | { readonly _tag: "Tail"; readonly text: string; readonly bytes: number }

/** 8 MiB: far above the longest line of the known runtimes, and little memory. */
export const MAX_LINE_BYTES = 8 * 1024 * 1024
/** Kept bytes of a line over the limit: its first fields name what the line is about. */
export const HEAD_BYTES = 64 * 1024

const NEWLINE = 10
const CARRIAGE_RETURN = 13
const BYTE_ORDER_MARK = "\uFEFF"
const empty = Buffer.alloc(0)
/** Size of a buffer for an unfinished line. A line of megabytes uses many of these instead of copies into ever larger ones. */
const BLOCK_BYTES = 256 * 1024
/** Smaller buffers are parts of Node's pool, and are not freed. */
const OWN_BYTES = 4096
/** A larger buffer is freed after its line. */
const KEEP_BYTES = 64 * 1024

export class Lines {
  readonly #limit: number
  /** The unfinished line: full blocks, then a block that doubles. On average each byte is copied once, for any reads. */
  readonly #fullBlocks: Array<Buffer<ArrayBuffer>> = []
  #last: Buffer<ArrayBuffer> = empty
  #lastBytes = 0
  /** Bytes of an unfinished line over the limit. Only its head is kept. */
  #droppedBytes = 0
  #head = ""
  #first = true

  constructor(limit = MAX_LINE_BYTES) {
    this.#limit = limit
  }

  /** Decodes one read. Returns the lines that it completes. */
  push(chunk: Uint8Array): ReadonlyArray<Line> {
    const bytes = Buffer.isBuffer(chunk)
      ? chunk
      : Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)
    const lines: Array<Line> = []
    let from = 0
    let newline = bytes.indexOf(NEWLINE)
    while (newline !== -1) {
      lines.push(this.#complete(bytes, from, newline))
      from = newline + 1
      newline = bytes.indexOf(NEWLINE, from)
    }
    if (from < bytes.length) this.#append(bytes, from, bytes.length)
    return lines
  }

  /** Returns the unfinished last line, if there is one. */
  end(): ReadonlyArray<Line> {
    const bytes = this.#heldBytes + this.#droppedBytes
    if (bytes === 0) return []
    const line: Line =
      this.#droppedBytes > 0
        ? { _tag: "TooLong", head: this.#head, bytes }
        : { _tag: "Tail", text: this.#heldText(), bytes }
    this.#release()
    return [line]
  }

  #complete(chunk: Buffer, from: number, to: number): Line {
    if (this.#heldBytes === 0 && this.#droppedBytes === 0) {
      return to - from > this.#limit
        ? { _tag: "TooLong", head: this.#headOf(chunk, from, to), bytes: to - from }
        : { _tag: "Line", text: this.#decode(chunk, from, to), bytes: to - from }
    }
    this.#append(chunk, from, to)
    const bytes = this.#heldBytes + this.#droppedBytes
    const line: Line =
      this.#droppedBytes > 0
        ? { _tag: "TooLong", head: this.#head, bytes }
        : { _tag: "Line", text: this.#heldText(), bytes }
    this.#release()
    return line
  }

  get #heldBytes(): number {
    return this.#fullBlocks.length * BLOCK_BYTES + this.#lastBytes
  }

  #append(chunk: Buffer, from: number, to: number): void {
    const size = to - from
    if (this.#droppedBytes > 0 || this.#heldBytes + size > this.#limit) {
      if (this.#droppedBytes === 0) this.#head = this.#headOf(chunk, from, to)
      this.#droppedBytes += this.#heldBytes + size
      this.#freeBuffers()
      return
    }
    for (let place = from; place < to;) {
      if (this.#lastBytes === BLOCK_BYTES) {
        this.#fullBlocks.push(this.#last)
        this.#last = empty
        this.#lastBytes = 0
      }
      const end = Math.min(to, place + BLOCK_BYTES - this.#lastBytes)
      this.#grow(this.#lastBytes + end - place)
      this.#lastBytes += chunk.copy(this.#last, this.#lastBytes, place, end)
      place = end
    }
  }

  #grow(needed: number): void {
    if (needed <= this.#last.length) return
    const size = Math.min(BLOCK_BYTES, Math.max(needed, this.#last.length * 2, 1024))
    // Moved instead of copied, so that the smaller buffer is freed immediately.
    if (this.#last.length >= OWN_BYTES) this.#last = Buffer.from(this.#last.buffer.transfer(size))
    else {
      const grown = size < OWN_BYTES ? Buffer.allocUnsafe(size) : Buffer.allocUnsafeSlow(size)
      this.#last.copy(grown, 0, 0, this.#lastBytes)
      this.#last = grown
    }
  }

  /** The head of the held bytes and a part of a chunk. The limit may be smaller than a head. */
  #headOf(chunk: Buffer, from: number, to: number): string {
    const size = Math.min(HEAD_BYTES, this.#limit)
    const held = (this.#fullBlocks[0] ?? this.#last.subarray(0, this.#lastBytes)).subarray(0, size)
    const more = chunk.subarray(from, Math.min(to, from + size - held.length))
    return this.#withoutMark(Buffer.concat([held, more]).toString("utf8"))
  }

  #release(): void {
    this.#droppedBytes = 0
    this.#head = ""
    if (this.#fullBlocks.length > 0 || this.#last.length > KEEP_BYTES) this.#freeBuffers()
    this.#lastBytes = 0
  }

  /** Frees the buffers now instead of at the next garbage collection: they may be megabytes, again and again. */
  #freeBuffers(): void {
    for (const block of this.#fullBlocks) block.buffer.transfer(0)
    this.#fullBlocks.length = 0
    if (this.#last.length >= OWN_BYTES) this.#last.buffer.transfer(0)
    this.#last = empty
    this.#lastBytes = 0
  }

  #heldText(): string {
    if (this.#fullBlocks.length === 0) return this.#decode(this.#last, 0, this.#lastBytes)
    const decoder = new TextDecoder("utf-8", { ignoreBOM: true })
    let text = ""
    for (const block of this.#fullBlocks) text += decoder.decode(block, { stream: true })
    text += decoder.decode(this.#last.subarray(0, this.#lastBytes))
    return this.#withoutMark(text.endsWith("\r") ? text.slice(0, -1) : text)
  }

  #decode(bytes: Buffer, from: number, to: number): string {
    const end = to > from && bytes[to - 1] === CARRIAGE_RETURN ? to - 1 : to
    return this.#withoutMark(bytes.toString("utf8", from, end))
  }

  #withoutMark(text: string): string {
    if (!this.#first) return text
    // A byte-order mark counts only at the start of the output.
    this.#first = false
    return text.startsWith(BYTE_ORDER_MARK) ? text.slice(1) : text
  }
}
