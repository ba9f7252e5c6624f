/** Text that every store returns unchanged. */
import { Schema } from "effect"

/** Check for storable text: PostgreSQL rejects U+0000, and an unpaired surrogate cannot be encoded. */
export const isStorableText = Schema.makeFilter(
  (text: string) => !text.includes("\0") && text.isWellFormed(),
  {
    expected: "text without U+0000 and without half of a surrogate pair"
  }
)
