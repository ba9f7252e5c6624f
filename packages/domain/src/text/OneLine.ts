/**
 * A name that people read in one line: no control characters, and text that every store and encoding can hold.
 */
import { Schema } from "effect"

const plain = /^[^\p{Cc}\p{Cs}\u2028\u2029]*$/u

/** 1 to `max` UTF-16 units. */
export const oneLine = (max: number) =>
  Schema.String.check(
    Schema.isMinLength(1),
    Schema.isMaxLength(max),
    Schema.isPattern(plain, { expected: "one line of text" })
  )
