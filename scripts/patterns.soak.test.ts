/** Proves every regular expression again, and that the proof finds one that is not linear. */
import { assert, describe, it } from "@effect/vitest"
import { proven } from "./Patterns.ts"
import { refuted } from "./ProvePattern.ts"

describe("The proof of a regular expression", () => {
  it.each(["/\\{.*(,|\\.\\.).*\\}/s", "/a+$/", "/(a|a)*b/"])("refutes %s", (text) => {
    assert.isString(refuted(text))
  })

  it.each([...proven()])("holds for %s", (text) => {
    assert.isUndefined(refuted(text))
  })
})
