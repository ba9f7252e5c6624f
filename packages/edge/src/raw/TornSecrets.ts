/**
 * Secrets that a program prints in pieces, one in each of several JSON lines, as in the deltas of a message.
 *
 * Guarantees: lines leave in their order. A string that has a part of such a secret is replaced as a whole, and a secret within one string is
 * replaced however the string is escaped. A line waits while a string of it may be the beginning of a secret, and for at most `MAX_WAITING`
 * further lines: then that string is replaced.
 *
 * Does not: find pieces in fields of different names, or in a line of more than `MAX_STRINGS` strings.
 */
import { isTooDeep } from "@corral/domain/text/Depth"
import { REDACTED, type Redaction } from "@corral/redaction/Redaction"

/** A line without secrets that it has in one piece. */
export interface RawLine {
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

export class TornSecrets {
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
