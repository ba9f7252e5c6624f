/**
 * Raw output of one live run as its adapter reads it: lines of stdout with their times, then the end of stderr and the exit, without secrets, also
 * without those that a program prints in pieces, one in each of several JSON lines, as in the deltas of a message.
 *
 * Guarantees: a secret is found however reads, lines of JSON or escapes divide it (`Redaction`, `TornSecrets`). A string that has a part of a
 * divided secret is replaced as a whole, and a secret within one string is replaced however the string is escaped. A line waits while a string of
 * it may be the beginning of a secret, and for at most `MAX_WAITING` further lines: then that string is replaced. Lines leave in their order. A
 * line is written once: the next Edge, which reads the output from its beginning, begins to write after the last line whose position is on disk.
 *
 * Does not: delay the run. A line that waits is written later, with the time at which it was read. Pieces in fields of different names, or in a
 * line of more than `MAX_STRINGS` strings, are not found.
 */
import { type Line, Lines } from "@corral/adapters/text/Lines"
import type { RawRecord } from "@corral/domain/run/RawOutput"
import type { ProcessEnd } from "@corral/domain/run/RuntimeAdapter"
import { isTooDeep } from "@corral/domain/text/Depth"
import { REDACTED, Redaction } from "@corral/redaction/Redaction"

/** A line without secrets that it has in one piece. */
interface RawLine {
  /** Unix milliseconds. */
  readonly at: number
  readonly text: string
  readonly end?: number | undefined
  readonly bytes?: number | undefined
}

/** Maximum number of lines that wait. */
const MAX_WAITING = 16
/** Shortest beginning of a secret that is replaced when its line has waited too long. */
const SHORTEST_BEGINNING = 4
/** Strings of a line that are followed: each is a search. */
const MAX_STRINGS = 1_000
/** Characters before a string that may name a secret in it. */
const CONTEXT = 128
/** Characters of one field that are looked at together. */
const MAX_JOINED = 8_192
/** Fields that are followed. Beyond it, all are forgotten. */
const MAX_FIELDS = 256

interface Entry {
  readonly line: RawLine
  /** `undefined` if the line is not JSON. */
  readonly value: unknown
  readonly pieces: Array<Piece>
  /** Numbers of its strings that have a part of a secret. */
  readonly torn: Set<number>
}

/** A string of a line, by its place in the texts of its field. */
interface Piece {
  readonly entry: Entry
  readonly number: number
  readonly field: FieldText
  readonly start: number
  readonly end: number
}

/** Texts of one field over several lines. Places count from the first text on. */
class FieldText {
  /** Place before which no text belongs to an unfinished secret. */
  settled = 0
  end = 0
  #text = ""
  #base = 0
  #pieces: Array<Piece> = []

  add(entry: Entry, number: number, text: string, redaction: Redaction): void {
    const start = this.#base + this.#text.length
    const piece: Piece = { entry, number, field: this, start, end: start + text.length }
    entry.pieces.push(piece)
    this.#pieces.push(piece)
    this.#text += text
    if (this.#pieces.length > 1) this.#markTorn(redaction)
    this.end = piece.end
    this.settled = piece.end - redaction.piece("", this.#text).rest.length
    const from = Math.max(Math.min(this.settled, piece.end - CONTEXT), piece.end - MAX_JOINED, this.#base)
    this.#text = this.#text.slice(from - this.#base)
    this.#base = from
    this.#pieces = this.#pieces.filter(({ end }) => end > from)
  }

  #markTorn(redaction: Redaction): void {
    for (const span of redaction.secrets(this.#text)) {
      const [start, end] = [this.#base + span.start, this.#base + span.end]
      for (const piece of this.#pieces)
        if (piece.start < end && piece.end > start) piece.entry.torn.add(piece.number)
    }
  }
}

/** All strings of a value with the names of their fields, in order. Items of a list share a name. */
function* stringsIn(value: unknown, name = ""): Generator<readonly [name: string, text: string]> {
  if (typeof value === "string") yield [name, value]
  else if (Array.isArray(value)) for (const item of value) yield* stringsIn(item, `${name}[]`)
  else if (typeof value === "object" && value !== null)
    for (const [key, inner] of Object.entries(value)) yield* stringsIn(inner, `${name}.${key}`)
}

/** The value with other strings. */
const withStrings = (value: unknown, next: (text: string) => string): unknown => {
  if (typeof value === "string") return next(value)
  if (Array.isArray(value)) return value.map((item: unknown) => withStrings(item, next))
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, withStrings(inner, next)]))
}

const jsonOf = (text: string): unknown => {
  if (!text.startsWith("{") && !text.startsWith("[")) return undefined
  try {
    const value: unknown = JSON.parse(text)
    return isTooDeep(value) ? undefined : value
  } catch {
    return undefined
  }
}

const lineOf = ({ line, torn, value }: Entry, redaction: Redaction): RawLine => {
  if (value === undefined) return line
  let number = 0
  const whole = torn.size === 0 ? value : withStrings(value, (text) => (torn.has(number++) ? REDACTED : text))
  const redacted = redaction.value(whole)
  return redacted === value ? line : { ...line, text: JSON.stringify(redacted) }
}

/** Replaces secrets that are divided over several JSON lines. */
class TornSecrets {
  readonly #redaction: () => Redaction
  readonly #fields = new Map<string, FieldText>()
  #waiting: Array<Entry> = []

  constructor(redaction: () => Redaction) {
    this.#redaction = redaction
  }

  /** Returns the lines that no longer wait. */
  push(line: RawLine): ReadonlyArray<RawLine> {
    const entry: Entry = { line, value: jsonOf(line.text), pieces: [], torn: new Set() }
    this.#waiting.push(entry)
    const strings = [...stringsIn(entry.value)]
    if (strings.length <= MAX_STRINGS)
      for (const [number, [name, text]] of strings.entries())
        this.#fieldOf(name).add(entry, number, text, this.#redaction())
    const late = this.#waiting.slice(0, -MAX_WAITING)
    for (const { pieces, torn } of late)
      for (const { end, field, number } of pieces)
        if (end > field.settled && field.end - field.settled >= SHORTEST_BEGINNING) torn.add(number)
    const waits = ({ pieces }: Entry): boolean => pieces.some(({ end, field }) => end > field.settled)
    const first = this.#waiting.findIndex((entry, i) => i >= late.length && waits(entry))
    return this.#take(first === -1 ? this.#waiting.length : first)
  }

  /** Returns all lines that wait. */
  flush(): ReadonlyArray<RawLine> {
    return this.#take(this.#waiting.length)
  }

  #take(count: number): ReadonlyArray<RawLine> {
    const redaction = this.#redaction()
    return this.#waiting.splice(0, count).map((entry) => lineOf(entry, redaction))
  }

  #fieldOf(name: string): FieldText {
    const followed = this.#fields.get(name)
    if (followed !== undefined) return followed
    if (this.#fields.size >= MAX_FIELDS) this.#fields.clear()
    const field = new FieldText()
    this.#fields.set(name, field)
    return field
  }
}

/** Bytes of the longest line that is kept whole. */
const MAX_LINE_BYTES = 262_144
const NEWLINE = 10

/** Where the records go. */
interface RawSink {
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
