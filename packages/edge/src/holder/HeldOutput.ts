/**
 * Stdout of one run in the holder: stored in a file, and sent to the Edge that reads.
 *
 * Guarantees: all bytes are in the file when no Edge reads, so that the next Edge can read them again. What the Edge does not accept is stored at once, is
 * read from the file later, and does not wait in memory. Up to `UNWRITTEN` bytes that were sent wait for a common write: the holder's memory lasts as
 * long as the run. A reader with a window receives about as many bytes beyond what it has processed: at most one read of the pipe more. The
 * program waits once `READ_AHEAD` bytes are not sent, or `READ_AHEAD_ALONE` without a reader.
 * Beyond `maxBytes`, or if the disk refuses a write, the output is not whole: further bytes pass through, and the file is deleted when its
 * bytes are sent.
 *
 * Does not: flush to the disk. A reboot ends the run anyway.
 */
import { closeSync, constants, openSync, readSync, rmSync, writeSync } from "node:fs"

const READ_AHEAD = 32_768
const READ_AHEAD_ALONE = 16_777_216
const PIECE = 65_536
/** Maximum number of sent bytes that are not in the file. */
const UNWRITTEN = 2_048
/** Bytes that are sent from the file in one turn of the event loop, because other runs wait. */
const TURN = 1_048_576

const NOTHING = Buffer.alloc(0)

const { O_APPEND, O_CREAT, O_EXCL, O_NOFOLLOW = 0, O_RDWR } = constants

/** The Edge that reads. */
export interface OutputReader {
  /** Bytes that it accepts beyond those that it has processed. Without a window, what its connection accepts. */
  readonly window?: number | undefined
  /** Returns whether the reader accepts more now. */
  readonly sendOutput: (bytes: Buffer) => boolean
  /** All output was sent. Called again after each `read`. */
  readonly onAllSent: () => void
  /** The file was changed or cannot be read. Nothing more is sent. */
  readonly onLost: () => void
}

export interface HeldOutputOptions {
  readonly path: string
  readonly maxBytes: number
  /** Lets the program print, or leaves its pipe to fill. */
  readonly setPaused: (isPaused: boolean) => void
  /** The output is not whole from now on. */
  readonly onIncomplete: () => void
}

export class HeldOutput {
  readonly #options: HeldOutputOptions
  #file: number | undefined
  #isWhole = true
  /** Bytes in the file. */
  #stored = 0
  /** Bytes that the program has printed. */
  #total = 0
  #sent = 0
  /** Position up to which the reader has processed the output. */
  #processed = 0
  /** Bytes after those in the file, which were sent. */
  #tail: Array<Buffer> = []
  #tailBytes = 0
  /** Bytes that are not stored, and wait for the reader. */
  #unstored: Array<Buffer> = []
  #reader: OutputReader | undefined
  #isBlocked = false
  #hasReports = true
  #isPaused = false
  #hasEnded = false
  #isDeleted = false
  #turn: NodeJS.Immediate | undefined

  constructor(options: HeldOutputOptions) {
    this.#options = options
    try {
      this.#file = openSync(options.path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_APPEND, 0o600)
    } catch {
      this.#isWhole = false
    }
  }

  get bytes(): number {
    return this.#total
  }

  get isWhole(): boolean {
    return this.#isWhole
  }

  /** Adds what the program printed. `bytes` are valid until the return. */
  push(bytes: Buffer): void {
    if (this.#isDeleted) return
    const isNext = this.#sent === this.#total && this.#room > 0
    this.#total += bytes.length
    const isTail = isNext && this.#isWhole && this.#tailBytes + bytes.length <= UNWRITTEN
    if (!isTail && this.#isWhole && !this.#store(bytes)) this.#lose()
    if (this.#isDeleted || (!isNext && this.#isWhole)) return this.#adjust()
    const copy = Buffer.from(bytes)
    if (isTail) {
      this.#tail.push(copy)
      this.#tailBytes += copy.length
    }
    if (isNext && this.#reader !== undefined) {
      this.#send(this.#reader, copy)
      this.#dropFile()
    } else this.#unstored.push(copy)
    this.#adjust()
  }

  /** The program has ended, and has printed all. */
  end(): void {
    this.#hasEnded = true
    this.#pump()
  }

  /** Sends from this position on. `false` if its bytes are not stored. */
  read(from: number, reader: OutputReader): boolean {
    this.#writeTail()
    const first = this.#isWhole ? 0 : this.#sent
    if (from < first || from > this.#total) return false
    this.#sent = from
    this.#processed = from
    this.#reader = reader
    this.#isBlocked = false
    this.#hasReports = true
    this.#pump()
    return true
  }

  /** The reader has left. */
  detach(): void {
    this.#reader = undefined
    this.#writeTail()
    this.#adjust()
  }

  /** The reader accepts more. */
  drained(): void {
    this.#isBlocked = false
    this.#pump()
  }

  /** The reader has processed all output before the position. `false` if that was not sent. */
  processed(position: number): boolean {
    if (position > this.#sent) return false
    if (position <= this.#processed) return true
    this.#processed = position
    this.#pump()
    return true
  }

  /**
   * Whether reports of the reader arrive. While they wait behind input that the program does not read, the window does not count: the program
   * may read only after it has printed.
   */
  setReports(arrive: boolean): void {
    this.#hasReports = arrive
    if (!arrive) this.#pump()
  }

  /** Deletes the file. Further output is discarded. */
  delete(): void {
    this.#reader = undefined
    this.#isWhole = false
    this.#unstored = []
    this.#dropTail()
    this.#sent = this.#total
    this.#dropFile()
    clearImmediate(this.#turn)
    this.#isDeleted = true
    this.#isPaused = false
    this.#options.setPaused(false)
  }

  /** Whether the bytes and all before them are in the file. */
  #store(bytes: Buffer): boolean {
    if (this.#file === undefined || this.#total > this.#options.maxBytes) return false
    const pieces = this.#tailBytes === 0 ? [bytes] : [...this.#tail, bytes]
    this.#dropTail()
    try {
      for (const piece of pieces.length === 1 ? pieces : [Buffer.concat(pieces)])
        for (let at = 0; at < piece.length;) at += writeSync(this.#file, piece, at)
    } catch {
      // The disk is full. A part of the bytes may be in the file, and is not read.
      return false
    }
    this.#stored = this.#total
    return true
  }

  #writeTail(): void {
    if (this.#tailBytes > 0 && !this.#store(NOTHING)) this.#lose()
  }

  #dropTail(): void {
    this.#tail = []
    this.#tailBytes = 0
  }

  /** The output is not whole from now on. */
  #lose(): void {
    this.#isWhole = false
    this.#dropTail()
    this.#options.onIncomplete()
  }

  #send(reader: OutputReader, bytes: Buffer): void {
    this.#sent += bytes.length
    if (!reader.sendOutput(bytes)) this.#isBlocked = true
  }

  /** Bytes that the reader accepts now. */
  get #room(): number {
    if (this.#reader === undefined || this.#isBlocked) return 0
    const { window = Infinity } = this.#reader
    return !this.#hasReports ? Infinity : window - (this.#sent - this.#processed)
  }

  get #isReaderFull(): boolean {
    return this.#reader !== undefined && this.#room <= 0
  }

  /** The next bytes for the reader; `undefined` if all were sent. */
  #next(): Buffer | undefined {
    if (this.#sent >= this.#stored || this.#file === undefined) return this.#unstored.shift()
    const piece = Buffer.allocUnsafeSlow(Math.min(PIECE, this.#room, this.#stored - this.#sent))
    try {
      const count = readSync(this.#file, piece, 0, piece.length, this.#sent)
      return count > 0 ? piece.subarray(0, count) : undefined
    } catch {
      return undefined
    }
  }

  #pump(): void {
    clearImmediate(this.#turn)
    const reader = this.#reader
    if (reader === undefined) return
    const limit = this.#sent + TURN
    while (this.#room > 0 && this.#sent < this.#total && this.#sent < limit) {
      const bytes = this.#next()
      if (bytes === undefined) return this.#refuse(reader)
      this.#send(reader, bytes)
    }
    this.#dropFile()
    this.#adjust()
    if (this.#sent === this.#total) {
      if (this.#hasEnded && !this.#isBlocked) reader.onAllSent()
    } else if (this.#room > 0) this.#turn = setImmediate(() => this.#pump())
  }

  /** The file cannot be read. */
  #refuse(reader: OutputReader): void {
    this.#reader = undefined
    this.#lose()
    reader.onLost()
  }

  /** Deletes the file if it can no longer be read from its beginning, and its bytes were sent. */
  #dropFile(): void {
    if (this.#isWhole || this.#file === undefined || this.#sent < this.#stored) return
    closeSync(this.#file)
    this.#file = undefined
    rmSync(this.#options.path, { force: true })
  }

  #adjust(): void {
    const waiting = this.#total - this.#sent
    const limit = !this.#isWhole ? 0 : this.#reader === undefined ? READ_AHEAD_ALONE : READ_AHEAD
    // Bytes that are not stored wait in memory, so the program prints no more until they are sent.
    const isOver = this.#isWhole ? waiting > limit : waiting > 0 || this.#isReaderFull
    if (isOver === this.#isPaused || (!isOver && waiting > limit / 2)) return
    this.#isPaused = isOver
    this.#options.setPaused(isOver)
  }
}
