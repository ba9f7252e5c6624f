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
/** What an unfinished line is held in: a line of megabytes takes many of these, and never one twice its size to move into. */
const BLOCK_BYTES = 256 * 1024
/** Smaller ones are parts of Node's pool: cheap to have, and nothing to give back. */
const OWN_BYTES = 4096
/** A buffer that grew past this for one long line is given back with it. */
const KEEP_BYTES = 64 * 1024

export class Lines {
  readonly #limit: number
  /** The unfinished line: blocks that are full, then one that doubles until it is. One copy a byte on average, whatever the reads. */
  readonly #full: Array<Buffer<ArrayBuffer>> = []
  #last: Buffer<ArrayBuffer> = nothing
  #lastBytes = 0
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
      this.#droppedBytes > 0 ? { _tag: "TooLong", bytes } : { _tag: "Tail", text: this.#heldText(), bytes }
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
      this.#droppedBytes > 0 ? { _tag: "TooLong", bytes } : { _tag: "Line", text: this.#heldText(), bytes }
    this.#release()
    return line
  }

  get #heldBytes(): number {
    return this.#full.length * BLOCK_BYTES + this.#lastBytes
  }

  #hold(chunk: Buffer, from: number, to: number): void {
    const size = to - from
    if (this.#droppedBytes > 0 || this.#heldBytes + size > this.#limit) {
      this.#droppedBytes += this.#heldBytes + size
      this.#giveBack()
      return
    }
    for (let place = from; place < to;) {
      if (this.#lastBytes === BLOCK_BYTES) {
        this.#full.push(this.#last)
        this.#last = nothing
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
    // Moved, not copied beside: the smaller memory is free at once.
    if (this.#last.length >= OWN_BYTES) this.#last = Buffer.from(this.#last.buffer.transfer(size))
    else {
      const grown = size < OWN_BYTES ? Buffer.allocUnsafe(size) : Buffer.allocUnsafeSlow(size)
      this.#last.copy(grown, 0, 0, this.#lastBytes)
      this.#last = grown
    }
  }

  #release(): void {
    this.#droppedBytes = 0
    if (this.#full.length > 0 || this.#last.length > KEEP_BYTES) this.#giveBack()
    this.#lastBytes = 0
  }

  /** At once, not when a collector finds it: it may be megabytes, again and again. */
  #giveBack(): void {
    for (const block of this.#full) block.buffer.transfer(0)
    this.#full.length = 0
    if (this.#last.length >= OWN_BYTES) this.#last.buffer.transfer(0)
    this.#last = nothing
    this.#lastBytes = 0
  }

  #heldText(): string {
    if (this.#full.length === 0) return this.#decode(this.#last, 0, this.#lastBytes)
    const decoder = new TextDecoder("utf-8", { ignoreBOM: true })
    let text = ""
    for (const block of this.#full) text += decoder.decode(block, { stream: true })
    text += decoder.decode(this.#last.subarray(0, this.#lastBytes))
    return this.#whole(text.endsWith("\r") ? text.slice(0, -1) : text)
  }

  #decode(bytes: Buffer, from: number, to: number): string {
    const end = to > from && bytes[to - 1] === CARRIAGE_RETURN ? to - 1 : to
    return this.#whole(bytes.toString("utf8", from, end))
  }

  #whole(text: string): string {
    if (!this.#first) return text
    // A byte-order mark stands at the start of the output or it is text.
    this.#first = false
    return text.startsWith(BYTE_ORDER_MARK) ? text.slice(1) : text
  }
}
