/**
 * Search for many keywords at once, regardless of case. One pass over the text, whatever the number of keywords.
 *
 * A table of the hashes of three characters answers for almost every position that no keyword begins there.
 */

const TABLE_BITS = 15
const MASK = (1 << TABLE_BITS) - 1
const FIRST = 3
/** Characters that are searched together, as bytes where they are ASCII. */
const WINDOW = 65_536
const scratch = new Uint8Array(WINDOW)
const encoder = new TextEncoder()

/** Lowercase code of a character; 0 for everything that is in no keyword. */
const lowercase = Uint8Array.from({ length: 128 }, (_, code) =>
  String.fromCharCode(code).toLowerCase().charCodeAt(0)
)

type Hits = Array<number> | undefined

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
    let hits: Array<number> | undefined
    // Windows overlap: the first characters of a keyword are always together in one of them.
    for (let from = 0; from + FIRST <= text.length; from += WINDOW - FIRST + 1) {
      const part = text.length <= WINDOW ? text : text.slice(from, from + WINDOW)
      const { read, written } = encoder.encodeInto(part, scratch)
      hits =
        read === part.length && written === read
          ? this.#hitsInBytes(text, from, scratch, written, hits)
          : this.#hitsInText(text, from, Math.min(from + WINDOW, text.length), hits)
    }
    return hits ?? none
  }

  #hitsInText(text: string, from: number, to: number, before: Hits): Hits {
    let hits = before
    let hash = 0
    for (let at = from; at < to; at++) {
      // What is no ASCII hashes to something too; `#found` compares.
      hash = ((hash << 5) ^ (lowercase[text.charCodeAt(at) & 127] ?? 0)) & MASK
      if (((this.#bits[hash >> 5] ?? 0) & (1 << (hash & 31))) !== 0 && at >= from + FIRST - 1)
        hits = this.#found(text, at - FIRST + 1, hash, hits)
    }
    return hits
  }

  /** The same over the bytes of an ASCII text: reading characters of a string that is a part of another one takes ten times as long. */
  #hitsInBytes(text: string, from: number, bytes: Uint8Array, length: number, before: Hits): Hits {
    const bits = this.#bits
    let hits = before
    let hash = 0
    for (let at = 0; at < length; at++) {
      hash = ((hash << 5) ^ (lowercase[bytes[at] ?? 0] ?? 0)) & MASK
      if (((bits[hash >> 5] ?? 0) & (1 << (hash & 31))) !== 0 && at >= FIRST - 1)
        hits = this.#found(text, from + at - FIRST + 1, hash, hits)
    }
    return hits
  }

  #found(text: string, at: number, hash: number, before: Hits): Hits {
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
