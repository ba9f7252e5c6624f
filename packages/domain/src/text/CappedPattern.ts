/**
 * Regular expression without a proof of linear time. It matches nothing in a text over a limit.
 *
 * Every other expression of the sources is proven linear: `scripts/patterns.test.ts`.
 */
class CappedPattern extends RegExp {
  readonly #limit: number

  /** `split` and `matchAll` make copies with other flags: a copy has the limit of its pattern. */
  constructor(
    pattern: RegExp,
    flags?: string,
    limit = pattern instanceof CappedPattern ? pattern.#limit : 0
  ) {
    super(pattern, flags ?? pattern.flags)
    this.#limit = limit
  }

  /** `test`, `match`, `replace` and `search` are this too. */
  override exec(text: string): RegExpExecArray | null {
    if (text.length <= this.#limit) return super.exec(text)
    this.lastIndex = 0
    return null
  }
}

/** The pattern, which matches nothing in a text over `limit` characters. */
export const capped = (limit: number, pattern: RegExp): RegExp =>
  new CappedPattern(pattern, pattern.flags, limit)
