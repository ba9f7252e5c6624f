/**
 * Raw output of one live run as its adapter reads it: lines of stdout with their times, then the end of stderr and the exit, without secrets.
 *
 * Guarantees: a secret is found however reads, lines of JSON or escapes divide it (`Redaction`, `TornSecrets`). A line is written once: the next
 * Edge, which reads the output from its beginning, begins to write after the last line whose position is on disk.
 *
 * Does not: delay the run. A line that may be the beginning of a secret is written later, with the time at which it was read.
 */
import { type Line, Lines } from "@corral/adapters/text/Lines"
import type { RawRecord } from "@corral/domain/run/RawOutput"
import type { ProcessEnd } from "@corral/domain/run/RuntimeAdapter"
import { Redaction } from "@corral/redaction/Redaction"
import { type RawLine, TornSecrets } from "./TornSecrets.ts"

/** Bytes of the longest line that is kept whole. */
const MAX_LINE_BYTES = 262_144
const NEWLINE = 10

/** Where the records go. */
export interface RawSink {
  /** Bytes of stdout that an earlier Edge has written. */
  readonly written: number
  /** `from`: bytes of stdout before the records. */
  readonly append: (records: ReadonlyArray<RawRecord>, from: number) => void
}

export interface RawRunOptions {
  readonly sink: RawSink
  /** Values that are secret now; more may be added. */
  readonly secrets: { readonly values: ReadonlySet<string> }
  /** Unix milliseconds. */
  readonly now: () => number
}

/** The value as JSON writes it in a string, and in a string within a string. */
const withJsonForms = (values: ReadonlySet<string>): ReadonlyArray<string> =>
  [...values].flatMap((value) => {
    const once = JSON.stringify(value).slice(1, -1)
    return [value, once, JSON.stringify(once).slice(1, -1)]
  })

export class RawRun {
  readonly #options: RawRunOptions
  readonly #lines = new Lines(MAX_LINE_BYTES)
  readonly #torn: TornSecrets
  #redaction: Redaction
  /** Number of values that `#redaction` has. */
  #valueCount: number
  /** Bytes of stdout that were read. */
  #position = 0
  /** Bytes of stdout before the records of the current read, and after them. */
  #from: number
  #written: number
  /** Whether the lines were written by an earlier Edge. */
  #isRepeated: boolean
  /** Redacted text before the next line end. */
  #partial = ""
  /** Records of the current read. */
  #records: Array<RawRecord> = []
  /** Text that may begin a secret, and the text before it. */
  #rest = ""
  #context = ""

  constructor(options: RawRunOptions) {
    this.#options = options
    this.#valueCount = options.secrets.values.size
    this.#redaction = new Redaction(withJsonForms(options.secrets.values))
    this.#torn = new TornSecrets(() => this.#current)
    this.#from = options.sink.written
    this.#written = options.sink.written
    this.#isRepeated = options.sink.written > 0
  }

  /** The next bytes of stdout. They are not changed, and not kept. */
  push(read: Uint8Array): void {
    let from = 0
    for (const line of this.#lines.push(read)) {
      from = read.indexOf(NEWLINE, from) + 1
      this.#write(line, this.#position + from)
    }
    this.#position += read.length
    this.#store()
  }

  /** The program has ended, and has printed all. */
  end({ code, signal, stderr }: ProcessEnd): void {
    const at = this.#options.now()
    for (const line of this.#lines.end()) this.#write(line, this.#position)
    const last = this.#partial + this.#flushed()
    this.#partial = ""
    this.#emit([
      ...(last === "" ? [] : this.#torn.push({ at, text: last, end: this.#position })),
      ...this.#torn.flush()
    ])
    const time = new Date(at).toISOString()
    const text = this.#current.text(stderr)
    if (text !== "") this.#records.push({ at: time, stream: "stderr", text })
    this.#records.push({ at: time, exit: { code, signal } })
    this.#store()
  }

  /** Further values may have become secret. */
  get #current(): Redaction {
    const { values } = this.#options.secrets
    if (values.size !== this.#valueCount) {
      this.#valueCount = values.size
      this.#redaction = new Redaction(withJsonForms(values))
    }
    return this.#redaction
  }

  #write(line: Line, end: number): void {
    const at = this.#options.now()
    if (line._tag === "TooLong") {
      this.#partial += `${this.#flushed()}${this.#current.text(`${line.head}…`)}\n`
      return this.#complete(at, end, line.bytes)
    }
    const { context, rest, shown } = this.#current.piece(
      this.#context,
      `${this.#rest}${line.text}${line._tag === "Tail" ? "" : "\n"}`
    )
    this.#context = context
    this.#rest = rest
    this.#partial += shown
    this.#complete(at, end)
  }

  /** Text that no longer waits: nothing follows that could belong to it. */
  #flushed(): string {
    const text = this.#current.after(this.#context, this.#rest)
    this.#rest = ""
    this.#context = ""
    return text
  }

  /** Passes on the lines that are complete. The position is that of the last one, unless text after it waits. */
  #complete(at: number, end: number, bytes?: number): void {
    const texts = this.#partial.split("\n")
    this.#partial = texts.pop() ?? ""
    const isWhole = this.#rest === "" && this.#partial === ""
    for (const [i, text] of texts.entries()) {
      const isLast = i === texts.length - 1
      const line = { at, text, end: isLast && isWhole ? end : undefined, bytes: isLast ? bytes : undefined }
      this.#emit(this.#torn.push(line))
    }
  }

  #emit(lines: ReadonlyArray<RawLine>): void {
    for (const { at, bytes, end, text } of lines) {
      if (this.#isRepeated && !this.#isAfterRepeated(end)) continue
      this.#written = end ?? this.#written
      this.#records.push({
        at: new Date(at).toISOString(),
        stream: "stdout",
        text,
        ...(end === undefined ? {} : { end }),
        ...(bytes === undefined ? {} : { bytes })
      })
    }
  }

  /** Whether a line follows those that an earlier Edge has written. Ends the repetition with the last one of them. */
  #isAfterRepeated(end: number | undefined): boolean {
    const { written } = this.#options.sink
    if (end === undefined || end < written) return false
    this.#isRepeated = false
    return end > written
  }

  /** Writes the records of a read together. */
  #store(): void {
    if (this.#records.length === 0) return
    const records = this.#records
    this.#records = []
    this.#options.sink.append(records, this.#from)
    this.#from = this.#written
  }
}
