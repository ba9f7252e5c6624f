import { assert, describe, it } from "@effect/vitest"
import { beginningOf, endingOf } from "../../src/text/Excerpt.ts"

describe("Excerpt", () => {
  it("is the text itself where that is short", () => {
    assert.strictEqual(beginningOf("a few words", 11), "a few words")
    assert.strictEqual(endingOf("a few words", 11), "a few words")
  })

  it("says where it was cut, and begins with no half of a word", () => {
    assert.strictEqual(beginningOf("a few words", 8), "a few wo…")
    assert.strictEqual(endingOf("a few words", 8), "… words")
    assert.strictEqual(endingOf("oneverylongword", 8), "…")
  })
})
