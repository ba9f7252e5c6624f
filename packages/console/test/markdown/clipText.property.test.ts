import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { clipEnd, clipStart } from "../../src/markdown/Clipped.tsx"

const texts = fc
  .array(fc.oneof(fc.constant("\n"), fc.string({ maxLength: 12 }), fc.constant("word ")), { maxLength: 60 })
  .map((parts) => parts.join(""))
const limits = fc.tuple(fc.integer({ min: 1, max: 120 }), fc.integer({ min: 1, max: 12 }))

const linesOf = (text: string): number => (text === "" ? 0 : text.replace(/\n$/, "").split("\n").length)

describe("a clipped text", () => {
  it("is the text where it fits, and within its limits where it does not", () => {
    fc.assert(
      fc.property(texts, limits, (text, [most, lines]) => {
        for (const [clip, isEnd] of [
          [clipStart, false],
          [clipEnd, true]
        ] as const) {
          const part = clip(text, most, lines)
          if (text.length <= most && linesOf(text) <= lines) assert.strictEqual(part, text)
          assert.isAtMost(part.length, most + 1)
          assert.isAtMost(linesOf(part), lines)
          assert.isTrue(isEnd ? text.endsWith(part) : text.startsWith(part))
        }
      }),
      { numRuns: 500 }
    )
  })

  it("begins its end at the beginning of a line, unless that line alone is too long", () => {
    fc.assert(
      fc.property(texts, limits, (text, [most, lines]) => {
        const part = clipEnd(text, most, lines)
        const before = text.length - part.length
        if (before > 0 && part.length < most) assert.strictEqual(text[before - 1], "\n")
      }),
      { numRuns: 500 }
    )
  })
})
