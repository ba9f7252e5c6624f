/**
 * Source text of a command line that counts how much of it is read, so that a parser stops after a number of steps.
 *
 * The parser always reads the text character by character. A parser that reads a part again and again runs out of steps and
 * fails with `OutOfSteps`. The count depends on the line alone, not on the machine or its load.
 *
 * Does not: count work that reads no text. The parser has none that grows faster than what it has read.
 */

/** The parser exceeded its budget of steps. */
export class OutOfSteps extends Error {}

/** Characters that a native search or copy handles in the time of one step. */
const PER_STEP = 16

export class CountedText extends String {
  readonly #budget: number
  #steps = 0

  constructor(text: string, budget: number) {
    super(text)
    this.#budget = budget
  }

  /** Number of steps so far. */
  get steps(): number {
    return this.#steps
  }

  override charCodeAt(index: number): number {
    this.count(1)
    return super.charCodeAt(index)
  }

  override charAt(index: number): string {
    this.count(1)
    return super.charAt(index)
  }

  override slice(start?: number, end?: number): string {
    return this.#copied(super.slice(start, end))
  }

  override substring(start: number, end?: number): string {
    return this.#copied(super.substring(start, end))
  }

  override indexOf(text: string, from = 0): number {
    const at = super.indexOf(text, from)
    this.count(1 + Math.max(0, (at === -1 ? this.length : at) - from) / PER_STEP)
    return at
  }

  override lastIndexOf(text: string, from = this.length): number {
    const at = super.lastIndexOf(text, from)
    this.count(1 + Math.max(0, from - at) / PER_STEP)
    return at
  }

  override includes(text: string, from = 0): boolean {
    return this.indexOf(text, from) !== -1
  }

  override startsWith(text: string, from = 0): boolean {
    this.count(1)
    return super.startsWith(text, from)
  }

  #copied(part: string): string {
    this.count(1 + part.length / PER_STEP)
    return part
  }

  /** Counts work without reading. */
  count(steps: number): void {
    this.#steps += steps
    if (this.#steps > this.#budget) throw new OutOfSteps()
  }
}
