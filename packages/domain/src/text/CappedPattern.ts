/**
 * Regular expression without a proof of linear time. It never matches in a text that is longer than its limit.
 *
 * All other regular expressions of the sources are proven linear, by `scripts/patterns.test.ts`.
 */
class CappedPattern extends RegExp {
  readonly #limit: number

  /** `split` and `matchAll` copy the pattern with other flags. A copy keeps the limit. */
  constructor(
    pattern: RegExp,
    flags?: string,
    limit = pattern instanceof CappedPattern ? pattern.#limit : 0
  ) {
    super(pattern, flags ?? pattern.flags)
    this.#limit = limit
  }

  /** `test`, `match`, `replace` and `search` call this method. */
  override exec(text: string): RegExpExecArray | null {
    if (text.length <= this.#limit) return super.exec(text)
    this.lastIndex = 0
    return null
  }
}

/** Copy of a pattern that never matches in a text with more than `limit` UTF-16 units. */
export const capped = (limit: number, pattern: RegExp): RegExp =>
  new CappedPattern(pattern, pattern.flags, limit)
