/**
 * Search for many keywords in one pass over the text, regardless of case.
 *
 * The text is read as UTF-8: reading characters of a part of a string takes ten times as long. The pass collects, without a branch, where three
 * bytes may begin a keyword. The next byte rules out most of these places.
 */

const TABLE_BITS = 15
const MASK = (1 << TABLE_BITS) - 1
const FIRST = 3
/** Characters that are searched together. A character has at most three bytes. */
const WINDOW = 65_536
const bytes = new Uint8Array(3 * WINDOW)
/** Positions in `bytes` of the last of three that may begin a keyword. */
const candidates = new Int32Array(3 * WINDOW)
const encoder = new TextEncoder()

/** By byte: the lowercase code of an ASCII character; 128 for others. */
const codes = Uint8Array.from({ length: 256 }, (_, byte) =>
  byte < 128 ? String.fromCharCode(byte).toLowerCase().charCodeAt(0) : 128
)

const codeAt = (at: number): number => codes[bytes[at] ?? 0] ?? 0

/** What a hash is made of: one instruction makes letters lowercase, and mixes up other characters, which the comparison tells apart. */
const LOWER = 32
/** The hash of three bytes, as the loop of `#collect` has it after the last of them. */
const hashAt = (at: number): number => {
  let hash = 0
  for (let each = at; each < at + FIRST; each++) hash = (hash << 5) ^ ((bytes[each] ?? 0) | LOWER)
  return hash & MASK
}

interface Keyword {
  readonly text: string
  readonly index: number
}

export class KeywordSearch {
  /** 1 by hash if keywords begin with these characters, else 0. A byte and not a bit: the loop over all text then takes two thirds of the time. */
  readonly #beginnings = new Uint8Array(MASK + 1)
  /** By hash: index in `#groups` of these keywords. */
  readonly #groupOf = new Uint16Array(MASK + 1)
  readonly #groups: Array<Array<Keyword>> = [[]]
  /** By group: a bit for the lower five bits of each possible next character. */
  readonly #nextOf: Int32Array
  /** Longest keyword, in characters. */
  readonly #longest: number

  /** Keywords are lowercase ASCII of at least three characters. */
  constructor(keywords: ReadonlyArray<string>) {
    keywords.forEach((text, index) => {
      encoder.encodeInto(text, bytes)
      const hash = hashAt(0)
      const group = this.#groups[this.#groupOf[hash] ?? 0]
      if (group !== undefined && group.length > 0) group.push({ text, index })
      else {
        this.#groupOf[hash] = this.#groups.push([{ text, index }]) - 1
        this.#beginnings[hash] = 1
      }
    })
    this.#nextOf = Int32Array.from(this.#groups, (group) =>
      group.reduce((bits, { text }) => bits | (text.length > FIRST ? 1 << text.charCodeAt(FIRST) : -1), 0)
    )
    this.#longest = keywords.reduce((longest, { length }) => Math.max(longest, length), FIRST)
  }

  /**
   * Keywords in the text by position, as alternating positions and keyword indexes. If the text ends within a keyword, after at least three
   * characters, the index is inverted (`~index`).
   */
  hits(text: string): ReadonlyArray<number> {
    const hits: Array<number> = []
    // Parts overlap, so that one of them contains each keyword.
    const step = WINDOW - this.#longest
    for (let from = 0; from + FIRST <= text.length; from += step) {
      const isLast = from + WINDOW >= text.length
      const part = text.length <= WINDOW ? text : text.slice(from, from + WINDOW)
      const { written } = encoder.encodeInto(part, bytes)
      this.#addHits(hits, from, isLast ? text.length : from + step, written, written > part.length)
      if (isLast) break
    }
    return hits
  }

  /** Number of `candidates` in the bytes. */
  #collect(length: number): number {
    const beginnings = this.#beginnings
    let count = 0
    let hash = 0
    for (let at = 0; at < length; at++) {
      hash = ((hash << 5) ^ ((bytes[at] ?? 0) | LOWER)) & MASK
      candidates[count] = at
      count += beginnings[hash] ?? 0
    }
    return count
  }

  /** Adds the hits of a part that begins at `from` and leaves those from `to` on to the next part. */
  #addHits(hits: Array<number>, from: number, to: number, length: number, hasWideCharacters: boolean): void {
    const count = this.#collect(length)
    let place = from
    let counted = 0
    for (let each = 0; each < count; each++) {
      const at = (candidates[each] ?? 0) - FIRST + 1
      if (at < 0) continue
      const group = this.#groupAt(at)
      const isPossible = at + FIRST === length || ((this.#nextOf[group] ?? 0) >>> codeAt(at + FIRST)) & 1
      if (!isPossible) continue
      place += hasWideCharacters ? unitsBetween(counted, at) : at - counted
      counted = at
      if (place >= to) return
      this.#addKeywords(hits, group, place, at, length)
    }
  }

  #groupAt(at: number): number {
    return this.#groupOf[hashAt(at)] ?? 0
  }

  #addKeywords(hits: Array<number>, group: number, place: number, at: number, length: number): void {
    for (const { index, text: keyword } of this.#groups[group] ?? []) {
      let same = 0
      while (same < keyword.length && at + same < length && codeAt(at + same) === keyword.charCodeAt(same))
        same++
      if (same === keyword.length) hits.push(place, index)
      else if (at + same === length) hits.push(place, ~index)
    }
  }
}

/** Characters, as units of UTF-16, that begin in these bytes. */
const unitsBetween = (start: number, end: number): number => {
  let units = 0
  for (let at = start; at < end; at++) {
    const byte = bytes[at] ?? 0
    if (byte < 0x80 || byte >= 0xc0) units += byte >= 0xf0 ? 2 : 1
  }
  return units
}
