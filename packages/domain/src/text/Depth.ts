/** How deep JSON may nest. Encoders and walks further on recurse, and a deeper value would end them. */
import { Schema } from "effect"

export const MAX_DEPTH = 200

/** Whether a value nests deeper than `MAX_DEPTH`. Level by level, without recursion. */
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

/** For values of any shape that a caller sends. */
export const shallow = Schema.makeFilter((value: unknown) => !isTooDeep(value), {
  expected: `at most ${MAX_DEPTH} levels of objects and arrays`
})
