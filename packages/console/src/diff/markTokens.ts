/** Marks ranges of highlighted code. Tokens keep their classes; a marked piece gets its own class. */
import type { Token } from "../markdown/Highlighter.ts"
import type { TextRange } from "./wordChanges.ts"

/** `ranges` are in order and do not overlap. Linear in the number of tokens and ranges. */
export const markTokens = (
  tokens: ReadonlyArray<Token>,
  ranges: ReadonlyArray<TextRange>,
  className: string
): ReadonlyArray<Token> => {
  if (ranges.length === 0) return tokens
  let [offset, next] = [0, 0]
  const cut = (text: string): ReadonlyArray<Token> => {
    const pieces: Array<Token> = []
    const end = offset + text.length
    let at = offset
    while (at < end) {
      while ((ranges[next]?.to ?? Number.POSITIVE_INFINITY) <= at) next++
      const { from, to } = ranges[next] ?? { from: end, to: end }
      const isMarked = from <= at
      const until = Math.min(end, isMarked ? to : from)
      const piece = text.slice(at - offset, until - offset)
      pieces.push(isMarked ? { className, children: [piece] } : piece)
      at = until
    }
    offset = end
    return pieces
  }
  const mark = (all: ReadonlyArray<Token>): ReadonlyArray<Token> =>
    all.flatMap((token) =>
      typeof token === "string" ? cut(token) : [{ ...token, children: mark(token.children) }]
    )
  return mark(tokens)
}
