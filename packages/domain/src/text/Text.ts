/**
 * Checks of texts from outside: storable text, which every store returns unchanged, and one line of display, without control characters, line
 * separators and unpaired surrogates.
 */
import { Schema } from "effect"

/** Check for storable text: PostgreSQL rejects U+0000, and an unpaired surrogate cannot be encoded. */
export const isStorableText = Schema.makeFilter(
  (text: string) => !text.includes("\0") && text.isWellFormed(),
  {
    expected: "text without U+0000 and without half of a surrogate pair"
  }
)

const plain = /^[^\p{Cc}\p{Cs}\u2028\u2029]*$/u

/** Schema of one line with 1 to `max` UTF-16 units. */
export const oneLine = (max: number) =>
  Schema.String.check(
    Schema.isMinLength(1),
    Schema.isMaxLength(max),
    Schema.isPattern(plain, { expected: "one line of text" })
  )
