/**
 * Search for many keywords at once, regardless of case. One pass over the text, whatever the number of keywords.
 *
 * A table of the hashes of three characters answers for almost every position that no keyword begins there.
 */

const TABLE_BITS = 15
const MASK = (1 << TABLE_BITS) - 1
const FIRST = 3
/** Longest text that is searched as bytes. */
const SCRATCH = 65_536
const scratch = new Uint8Array(SCRATCH)
const encoder = new TextEncoder()

/** Lowercase code of a character; 0 for everything that is in no keyword. */
const lowercase = Uint8Array.from({ length: 128 }, (_, code) =>
  String.fromCharCode(code).toLowerCase().charCodeAt(0)
)

export class KeywordSearch {
  /** A bit per hash: the table fits the processor's nearest cache. */
  readonly #bits = new Int32Array(1 << (TABLE_BITS - 5))
  readonly #byHash = new Map<number, Array<number>>()
  readonly #keywords: ReadonlyArray<string>

  /** Keywords are lowercase ASCII of at least three characters. */
  constructor(keywords: ReadonlyArray<string>) {
    this.#keywords = keywords
    keywords.forEach((keyword, index) => {
      let hash = 0
      for (let at = 0; at < FIRST; at++) hash = ((hash << 5) ^ keyword.charCodeAt(at)) & MASK
      this.#bits[hash >> 5] = (this.#bits[hash >> 5] ?? 0) | (1 << (hash & 31))
      const others = this.#byHash.get(hash)
      if (others === undefined) this.#byHash.set(hash, [index])
      else others.push(index)
    })
  }

  /**
   * Each keyword in the text, in the order of their places: place and index of the keyword in turn. Where the text ends within a keyword,
   * after three characters or more, the index is inverted (`~index`).
   */
  hits(text: string): ReadonlyArray<number> {
    const { length } = text
    if (length <= SCRATCH) {
      const { written } = encoder.encodeInto(text, scratch)
      if (written === length) return this.#hitsInBytes(text, scratch, length)
    }
    let hits: Array<number> | undefined
    let hash = 0
    for (let at = 0; at < length; at++) {
      // What is no ASCII hashes to something too; `#found` compares.
      hash = ((hash << 5) ^ (lowercase[text.charCodeAt(at) & 127] ?? 0)) & MASK
      if (((this.#bits[hash >> 5] ?? 0) & (1 << (hash & 31))) !== 0 && at >= FIRST - 1)
        hits = this.#found(text, at - FIRST + 1, hash, hits)
    }
    return hits ?? none
  }

  /** The same over the bytes of an ASCII text: reading characters of a string that is a part of another one takes ten times as long. */
  #hitsInBytes(text: string, bytes: Uint8Array, length: number): ReadonlyArray<number> {
    const bits = this.#bits
    let hits: Array<number> | undefined
    let hash = 0
    for (let at = 0; at < length; at++) {
      hash = ((hash << 5) ^ (lowercase[bytes[at] ?? 0] ?? 0)) & MASK
      if (((bits[hash >> 5] ?? 0) & (1 << (hash & 31))) !== 0 && at >= FIRST - 1)
        hits = this.#found(text, at - FIRST + 1, hash, hits)
    }
    return hits ?? none
  }

  #found(
    text: string,
    at: number,
    hash: number,
    before: Array<number> | undefined
  ): Array<number> | undefined {
    let hits = before
    for (const index of this.#byHash.get(hash) ?? []) {
      const keyword = this.#keywords[index] ?? ""
      let same = 0
      while (same < keyword.length && lowercaseAt(text, at + same) === keyword.charCodeAt(same)) same++
      if (same === keyword.length) (hits ??= []).push(at, index)
      else if (at + same === text.length) (hits ??= []).push(at, ~index)
    }
    return hits
  }
}

const none: ReadonlyArray<number> = []

const lowercaseAt = (text: string, at: number): number | undefined => {
  const code = text.charCodeAt(at)
  return code < 128 ? lowercase[code] : undefined
}
