/**
 * Search for many keywords in one pass over the text, regardless of case.
 *
 * A table with the hashes of three characters rules out almost every position.
 */

const TABLE_BITS = 15
const MASK = (1 << TABLE_BITS) - 1
const FIRST = 3
/** Characters that are searched together, as bytes if they are ASCII. */
const WINDOW = 65_536
const scratch = new Uint8Array(WINDOW)
const encoder = new TextEncoder()

/** Lowercase code of each ASCII character, by its code. */
const lowercase = Uint8Array.from({ length: 128 }, (_, code) =>
  String.fromCharCode(code).toLowerCase().charCodeAt(0)
)

type Hits = Array<number> | undefined

interface Keyword {
  readonly text: string
  readonly index: number
}

export class KeywordSearch {
  /** By hash: index in `#groups` of the keywords that begin with these characters; 0 for almost every hash. */
  readonly #groupOf = new Uint16Array(MASK + 1)
  readonly #groups: Array<Array<Keyword>> = [[]]

  /** Keywords are lowercase ASCII of at least three characters. */
  constructor(keywords: ReadonlyArray<string>) {
    keywords.forEach((text, index) => {
      let hash = 0
      for (let at = 0; at < FIRST; at++) hash = ((hash << 5) ^ text.charCodeAt(at)) & MASK
      const group = this.#groups[this.#groupOf[hash] ?? 0]
      if (group !== undefined && group.length > 0) group.push({ text, index })
      else this.#groupOf[hash] = this.#groups.push([{ text, index }]) - 1
    })
  }

  /**
   * Keywords in the text by position, as alternating positions and keyword indexes. If the text ends within a keyword, after at least three
   * characters, the index is inverted (`~index`).
   */
  hits(text: string): ReadonlyArray<number> {
    let hits: Array<number> | undefined
    // Windows overlap, so that one of them contains the first characters of each keyword.
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
    const groupOf = this.#groupOf
    let hits = before
    let hash = 0
    for (let at = from; at < to; at++) {
      // Other characters than ASCII can collide with a hash. `#found` compares.
      hash = ((hash << 5) ^ (lowercase[text.charCodeAt(at) & 127] ?? 0)) & MASK
      const group = groupOf[hash] ?? 0
      if (group !== 0 && at >= from + FIRST - 1) hits = this.#found(text, at - FIRST + 1, group, hits)
    }
    return hits
  }

  /** The same search in the bytes of an ASCII text. Reading characters of a sliced string takes ten times as long. */
  #hitsInBytes(text: string, from: number, bytes: Uint8Array, length: number, before: Hits): Hits {
    const groupOf = this.#groupOf
    let hits = before
    let hash = 0
    for (let at = 0; at < length; at++) {
      hash = ((hash << 5) ^ (lowercase[bytes[at] ?? 0] ?? 0)) & MASK
      const group = groupOf[hash] ?? 0
      if (group !== 0 && at >= FIRST - 1) hits = this.#found(text, from + at - FIRST + 1, group, hits)
    }
    return hits
  }

  #found(text: string, at: number, group: number, before: Hits): Hits {
    let hits = before
    for (const { index, text: keyword } of this.#groups[group] ?? []) {
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
