/** Schema of a program in a configuration. */
import { Schema } from "effect"
import { isAbsolute } from "node:path"

/** A name that is looked up on PATH, or an absolute path. */
export const Program = Schema.String.check(
  Schema.makeFilter((text) => isAbsolute(text) || /^[^/\0]+$/.test(text), {
    expected: "the name of a program, or an absolute path"
  })
)
