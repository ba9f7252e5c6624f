/**
 * Search for many keywords at once, regardless of case. One pass over the text, whatever the number of keywords.
 *
 * A table of the hashes of three characters answers for almost every position that no keyword begins there.
 */

const TABLE_BITS = 15
const MASK = (1 << TABLE_BITS) - 1
const FIRST = 3

/** Lowercase code of a character; 0 for everything that is in no keyword. */
const lowercase = Uint8Array.from({ length: 128 }, (_, code) =>
  String.fromCharCode(code).toLowerCase().charCodeAt(0)
)

export class KeywordSearch {
  /** By hash: 1 + place in `#byHash`. */
  readonly #table = new Uint16Array(1 << TABLE_BITS)
  readonly #byHash: Array<Array<number>> = []
  readonly #keywords: ReadonlyArray<string>

  /** Keywords are lowercase ASCII of at least three characters. */
  constructor(keywords: ReadonlyArray<string>) {
    this.#keywords = keywords
    keywords.forEach((keyword, index) => {
      let hash = 0
      for (let at = 0; at < FIRST; at++) hash = ((hash << 5) ^ keyword.charCodeAt(at)) & MASK
      const place = this.#table[hash] ?? 0
      if (place === 0) this.#table[hash] = this.#byHash.push([index])
      else this.#byHash[place - 1]?.push(index)
    })
  }

  /** Each keyword in the text, in the order of their places: place and index of the keyword in turn. */
  hits(text: string): ReadonlyArray<number> {
    const table = this.#table
    const { length } = text
    let hits: Array<number> | undefined
    let hash = 0
    for (let at = 0; at < length; at++) {
      // What is no ASCII hashes to something too; `#found` compares.
      hash = ((hash << 5) ^ (lowercase[text.charCodeAt(at) & 127] ?? 0)) & MASK
      if (table[hash] !== 0 && at >= FIRST - 1) hits = this.#found(text, at - FIRST + 1, hash, hits)
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
    for (const index of this.#byHash[(this.#table[hash] ?? 0) - 1] ?? []) {
      const keyword = this.#keywords[index] ?? ""
      let same = 0
      while (same < keyword.length && lowercaseAt(text, at + same) === keyword.charCodeAt(same)) same++
      if (same === keyword.length) (hits ??= []).push(at, index)
    }
    return hits
  }
}

const none: ReadonlyArray<number> = []

const lowercaseAt = (text: string, at: number): number | undefined => {
  const code = text.charCodeAt(at)
  return code < 128 ? lowercase[code] : undefined
}
