import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { boundText, boundTextEnd, excerptOfEnd, isClipped } from "../../src/run/BoundedText.ts"

const texts = fc.string({ unit: "binary", maxLength: 600 })

describe("the end of a bounded text", () => {
  it("is the end of the text, and counts what is missing before it", () => {
    fc.assert(
      fc.property(texts, fc.integer({ min: 1, max: 500 }), (text, most) => {
        const whole = boundText(text, 3)
        const end = boundTextEnd(whole, most)
        assert.isAtMost(end.text.length, most)
        assert.isAtLeast(end.text.length, Math.min(text.length, most - 1))
        assert.isTrue(text.endsWith(end.text))
        assert.strictEqual(end.skipped, text.length - end.text.length)
        assert.deepStrictEqual([end.size, end.from, end.to], [text.length, 3, 3])
        assert.strictEqual(isClipped(end), end.skipped > 0)
        assert.strictEqual(excerptOfEnd(end).skipped, text.length - excerptOfEnd(end).text.length)
      })
    )
  })
})
