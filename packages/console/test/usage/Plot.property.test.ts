import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { axisTicks, labelledPlaces } from "../../src/usage/Plot.tsx"

const Amount = Schema.Finite.check(Schema.isBetween({ minimum: 1e-6, maximum: 1e12 }))
const Count = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 400 }))
const Width = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 2_000 }))

describe("axisTicks", () => {
  it.prop(
    "reach the largest amount in at most five equal steps",
    [Amount, Schema.Boolean],
    ([most, isWhole]) => {
      const ticks = axisTicks(most, isWhole)
      const last = ticks.at(-1) ?? 0
      const step = ticks[1] ?? 0
      assert.isAtLeast(last, most * (1 - 1e-9))
      // The top step is needed.
      assert.isBelow(last - step, most)
      assert.isAtMost(ticks.length, 6)
      for (const [at, tick] of ticks.entries()) {
        assert.closeTo(tick, at * step, last * 1e-9)
        if (isWhole) assert.isTrue(Number.isInteger(tick), String(tick))
      }
    }
  )

  it.each([
    [10, false, [0, 2.5, 5, 7.5, 10]],
    [10, true, [0, 5, 10]],
    [1, true, [0, 1]],
    [0.3, false, [0, 0.1, 0.2, 0.3]],
    [0, true, [0, 1]]
  ] as const)("of %d (whole: %s) are %j", (most, isWhole, ticks) =>
    assert.deepStrictEqual(axisTicks(most, isWhole), [...ticks])
  )
})

describe("labelledPlaces", () => {
  it.prop("have the last column and enough space between two", [Count, Width], ([count, width]) => {
    const places = [...labelledPlaces(count, width, 60)].toSorted((a, b) => a - b)
    assert.strictEqual(places.at(-1), count - 1)
    for (const [at, place] of places.entries()) {
      assert.isAtLeast(place, 0)
      const before = places[at - 1]
      if (before !== undefined) assert.isAtLeast(((place - before) * width) / count, 60 - 1e-9)
    }
  })
})
