/** Parts of a request that have been on the screen: nothing counts that was not there. */
import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { type ScreenSpan, unseenHeight, withSpan } from "../../src/approval/useSeenWhole.ts"

const HEIGHT = 400
const span = fc
  .tuple(fc.integer({ min: -50, max: HEIGHT + 50 }), fc.integer({ min: -20, max: 200 }))
  .map(([from, length]): ScreenSpan => ({ from, to: from + length }))

describe("SeenSpans", () => {
  it("leaves the pixels that no part had, but for gaps without text", () => {
    fc.assert(
      fc.property(fc.array(span, { maxLength: 12 }), (parts) => {
        const seen = new Set<number>()
        for (const { from, to } of parts) for (let at = from; at < to; at++) seen.add(at)
        let unseen = 0
        for (let at = 0; at < HEIGHT; at++) if (!seen.has(at)) unseen++
        const left = unseenHeight(parts.reduce<ReadonlyArray<ScreenSpan>>(withSpan, []), HEIGHT)
        assert.isAtMost(left, unseen)
        // Two pixels of slack between two parts, and at the end.
        assert.isAtLeast(left, unseen - 2 * (parts.length + 1))
      })
    )
  })

  it("counts a jump to the end as a gap", () => {
    const ends = [
      { from: 0, to: 100 },
      { from: 300, to: 400 }
    ].reduce<ReadonlyArray<ScreenSpan>>(withSpan, [])
    assert.strictEqual(unseenHeight(ends, HEIGHT), 200)
    assert.strictEqual(unseenHeight(withSpan(ends, { from: 90, to: 310 }), HEIGHT), 0)
  })
})
