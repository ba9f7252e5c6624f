/**
 * Text for one line of display: without control characters, line separators and unpaired surrogates.
 */
import { Schema } from "effect"

const plain = /^[^\p{Cc}\p{Cs}\u2028\u2029]*$/u

/** Schema of one line with 1 to `max` UTF-16 units. */
export const oneLine = (max: number) =>
  Schema.String.check(
    Schema.isMinLength(1),
    Schema.isMaxLength(max),
    Schema.isPattern(plain, { expected: "one line of text" })
  )
