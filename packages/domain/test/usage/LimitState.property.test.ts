/** States of limits at 80 % and at all of them, in whole numbers. */
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { nearLimitFrom } from "../../src/run/Budget.ts"
import { limitStateOf } from "../../src/usage/Limit.ts"

/** In the smallest unit: a token, or a millionth of a dollar. */
const amount = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 1_000_000_000_000 }))

describe("limitStateOf", () => {
  it.prop("is near from the least whole amount that is 80 % of the limit", [amount], ([limit]) => {
    const near = Number((BigInt(limit) * 4n + 4n) / 5n)
    const statesAt = (used: number) => [
      limitStateOf({ tokens: limit }, { tokens: used, costUsd: 0 }),
      limitStateOf({ costUsd: limit / 1e6 }, { tokens: 0, costUsd: used / 1e6 })
    ]
    assert.deepStrictEqual(statesAt(near - 1), ["open", "open"])
    if (near < limit) assert.deepStrictEqual(statesAt(near), ["near", "near"])
    assert.deepStrictEqual(statesAt(limit), ["reached", "reached"])
  })

  it("is near at $2.40 of $3, which is less than 80 % as a fraction", () => {
    assert.isBelow(2.4 / 3, 0.8)
    assert.strictEqual(limitStateOf({ costUsd: 3 }, { costUsd: 2.4, tokens: 0 }), "near")
  })

  it("is that of the amount of which most is used", () => {
    const limit = { costUsd: 10, tokens: 10 }
    assert.strictEqual(limitStateOf(limit, { costUsd: 8, tokens: 1 }), "near")
    assert.strictEqual(limitStateOf(limit, { costUsd: 8, tokens: 10 }), "reached")
    assert.strictEqual(limitStateOf({ tokens: 10 }, { costUsd: 1_000, tokens: 1 }), "open")
  })

  it.prop(
    "has exact bounds for each safe integer",
    [Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }))],
    ([limit]) => {
      assert.strictEqual(BigInt(nearLimitFrom(limit)), (BigInt(limit) * 4n + 4n) / 5n)
    }
  )
})
