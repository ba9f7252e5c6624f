import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { appendText, boundText, excerptOf, MAX_KEPT_TEXT } from "../../src/run/RunBlock.ts"
import { charactersFrom, firstCharacters } from "../../src/text/Cut.ts"

/** Text of characters of one and two UTF-16 units, without halves. */
const texts = fc.string({
  unit: fc.constantFrom("a", " ", "\n", "é", "😀", "𝒳", "\u{10ffff}"),
  maxLength: 30
})

describe("Cut", () => {
  it("cuts between characters, and loses at most one unit more than needed", () => {
    fc.assert(
      fc.property(texts, fc.nat(40), (text, at) => {
        const [first, rest] = [firstCharacters(text, at), charactersFrom(text, at)]
        assert.isTrue(first.isWellFormed() && rest.isWellFormed(), JSON.stringify([first, rest]))
        assert.isTrue(text.startsWith(first) && text.endsWith(rest))
        assert.isAtMost(first.length, at)
        assert.isAtLeast(first.length, Math.min(text.length, at - 1))
        assert.isAtLeast(rest.length, Math.max(0, text.length - at - 1))
        assert.isAtMost(rest.length, Math.max(0, text.length - at))
      })
    )
  })

  it("keeps a half that the text has", () => {
    assert.strictEqual(firstCharacters("\ud83d\ud83dx", 1), "\ud83d")
    assert.strictEqual(charactersFrom("a\ude00", 1), "\ude00")
  })

  it("leaves no half in the texts of a view", () => {
    for (let before = 0; before < 3; before++) {
      const text = "x".repeat(before) + "😀".repeat(MAX_KEPT_TEXT)
      const bound = boundText(text, 1)
      assert.isTrue(bound.text.isWellFormed())
      assert.isTrue(excerptOf(bound).text.isWellFormed())
      const grown = appendText(bound, text, 2)
      assert.isTrue(grown.text.isWellFormed())
      assert.strictEqual(grown.skipped + grown.text.length, bound.text.length + text.length)
    }
  })
})
