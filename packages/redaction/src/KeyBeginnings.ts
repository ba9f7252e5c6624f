/** The first one and the first two characters of keys with a known beginning, regardless of case. */

const ASCII = 128

export class KeyBeginnings {
  /** By character code. */
  readonly #first = new Uint8Array(ASCII)
  /** By the codes of two characters. */
  readonly #both = new Uint8Array(ASCII * ASCII)

  /** Keywords are lowercase ASCII of at least two characters. */
  constructor(keywords: ReadonlyArray<string>) {
    for (const keyword of keywords)
      for (const first of casesOf(keyword.charAt(0))) {
        this.#first[first] = 1
        for (const second of casesOf(keyword.charAt(1))) this.#both[first * ASCII + second] = 1
      }
  }

  /** Whether a key can begin with the last one or two characters of a text, which begin at this position. */
  has(text: string, at: number): boolean {
    const first = text.charCodeAt(at)
    if (first >= ASCII) return false
    if (at === text.length - 1) return this.#first[first] === 1
    const second = text.charCodeAt(at + 1)
    return second < ASCII && this.#both[first * ASCII + second] === 1
  }
}

const casesOf = (character: string): ReadonlyArray<number> =>
  [character, character.toUpperCase()].map((each) => each.charCodeAt(0))
