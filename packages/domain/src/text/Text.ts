/** Text that every store here can keep and give back as it was. */
import { Schema } from "effect"

/** PostgreSQL keeps no U+0000, and half of a surrogate pair is no character. */
export const storable = Schema.makeFilter((text: string) => !text.includes("\0") && text.isWellFormed(), {
  expected: "text without U+0000 and without half of a surrogate pair"
})
