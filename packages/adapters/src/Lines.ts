/**
 * Bytes → lines, synchronously and in linear time: the first thing that happens to everything a runtime prints.
 *
 * Owns the cut at `\n`, the decoding of UTF-8 and the limit of one line. The same bytes give the same lines whatever the chunking.
 * Nothing throws: invalid UTF-8 becomes U+FFFD as in any decoder. What a line means is not its business, and it keeps no empty-line rule.
 */
import { Buffer } from "node:buffer"

export type Line =
  /** A whole line without its `\n` or `\r\n`. `bytes` counts what was printed, line end excluded. */
  | { readonly _tag: "Line"; readonly text: string; readonly bytes: number }
  /** A line over the limit: dropped, only its length is known. */
  | { readonly _tag: "TooLong"; readonly bytes: number }
  /** What stood after the last `\n` when the output ended. */
  | { readonly _tag: "Tail"; readonly text: string; readonly bytes: number }

/** 8 MiB: far above the longest line that a runtime prints in earnest, far below what hurts. */
export const MAX_LINE_BYTES = 8 * 1024 * 1024

const NEWLINE = 10
const CARRIAGE_RETURN = 13
const BYTE_ORDER_MARK = "\uFEFF"
const nothing = Buffer.alloc(0)
/** A buffer that grew past this for one long line is given back with it. */
const KEEP_BYTES = 64 * 1024

export class Lines {
  readonly #limit: number
  /** The unfinished line, in a buffer that doubles: one copy a byte on average, whatever the size of the reads. */
  #held: Buffer<ArrayBuffer> = nothing
  #heldBytes = 0
  /** Bytes of an unfinished line that is over the limit already; none of it is kept. */
  #droppedBytes = 0
  #first = true

  constructor(limit = MAX_LINE_BYTES) {
    this.#limit = limit
  }

  /** The lines that this read completes. */
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
    if (from < bytes.length) this.#hold(bytes, from, bytes.length)
    return lines
  }

  /** The output is over: the unfinished last line, if there is one. */
  end(): ReadonlyArray<Line> {
    const bytes = this.#heldBytes + this.#droppedBytes
    if (bytes === 0) return []
    const line: Line =
      this.#droppedBytes > 0
        ? { _tag: "TooLong", bytes }
        : { _tag: "Tail", text: this.#decode(this.#held, 0, bytes), bytes }
    this.#release()
    return [line]
  }

  #complete(chunk: Buffer, from: number, to: number): Line {
    if (this.#heldBytes === 0 && this.#droppedBytes === 0) {
      return to - from > this.#limit
        ? { _tag: "TooLong", bytes: to - from }
        : { _tag: "Line", text: this.#decode(chunk, from, to), bytes: to - from }
    }
    this.#hold(chunk, from, to)
    const bytes = this.#heldBytes + this.#droppedBytes
    const line: Line =
      this.#droppedBytes > 0
        ? { _tag: "TooLong", bytes }
        : { _tag: "Line", text: this.#decode(this.#held, 0, bytes), bytes }
    this.#release()
    return line
  }

  #hold(chunk: Buffer, from: number, to: number): void {
    const size = to - from
    if (this.#droppedBytes > 0 || this.#heldBytes + size > this.#limit) {
      this.#droppedBytes += this.#heldBytes + size
      this.#heldBytes = 0
      this.#giveBack()
      return
    }
    const needed = this.#heldBytes + size
    if (needed > this.#held.length) {
      const size = Math.min(this.#limit, Math.max(needed, this.#held.length * 2, 1024))
      // Moved, not copied beside: the smaller memory is free at once.
      this.#held =
        this.#held.length === 0 ? Buffer.allocUnsafeSlow(size) : Buffer.from(this.#held.buffer.transfer(size))
    }
    chunk.copy(this.#held, this.#heldBytes, from, to)
    this.#heldBytes = needed
  }

  #release(): void {
    this.#heldBytes = 0
    this.#droppedBytes = 0
    if (this.#held.length > KEEP_BYTES) this.#giveBack()
  }

  /** At once, not when a collector finds it: it may be megabytes, again and again. */
  #giveBack(): void {
    if (this.#held.length > 0) this.#held.buffer.transfer(0)
    this.#held = nothing
  }

  #decode(bytes: Buffer, from: number, to: number): string {
    const end = to > from && bytes[to - 1] === CARRIAGE_RETURN ? to - 1 : to
    const text = bytes.toString("utf8", from, end)
    if (!this.#first) return text
    // A byte-order mark stands at the start of the output or it is text.
    this.#first = false
    return text.startsWith(BYTE_ORDER_MARK) ? text.slice(1) : text
  }
}
