/** Limit of nesting in JSON values. Encoders and other functions recurse, and deeper values can overflow their stack. */
import { Schema } from "effect"

export const MAX_DEPTH = 200

/** Whether a value nests deeper than `MAX_DEPTH`. Does not recurse itself. */
export const isTooDeep = (root: unknown): boolean => {
  let level: Array<unknown> = [root]
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > MAX_DEPTH) return true
    const below: Array<unknown> = []
    for (const value of level) {
      if (typeof value !== "object" || value === null) continue
      for (const child of Object.values(value))
        if (typeof child === "object" && child !== null) below.push(child)
    }
    level = below
  }
  return false
}

/** Check for values of any shape from callers. */
export const shallow = Schema.makeFilter((value: unknown) => !isTooDeep(value), {
  expected: `at most ${MAX_DEPTH} levels of objects and arrays`
})
