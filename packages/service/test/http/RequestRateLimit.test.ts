import { assert, describe, it } from "@effect/vitest"
import { RequestRateLimit } from "../../src/http/RequestRateLimit.ts"

describe("RateLimit", () => {
  it("gives each caller a second's worth at once, and no more", () => {
    const limit = new RequestRateLimit(3, () => 1_000)
    assert.deepStrictEqual(
      [1, 2, 3, 4].map(() => limit.take("ada")),
      [true, true, true, false]
    )
    assert.isTrue(limit.take("bob"), "another caller has a bucket of their own")
  })

  it("fills up with time, not beyond a second's worth", () => {
    let now = 1_000
    const limit = new RequestRateLimit(2, () => now)
    for (let i = 0; i < 2; i++) limit.take("ada")
    assert.isFalse(limit.take("ada"))
    now += 500
    assert.isTrue(limit.take("ada"))
    assert.isFalse(limit.take("ada"))
    now += 60_000
    assert.deepStrictEqual(
      [1, 2, 3].map(() => limit.take("ada")),
      [true, true, false]
    )
  })

  it("takes nothing for a clock that is set back", () => {
    let now = 10_000
    const limit = new RequestRateLimit(1, () => now)
    assert.isTrue(limit.take("ada"))
    now = 0
    assert.isFalse(limit.take("ada"))
    now = 1_000
    assert.isTrue(limit.take("ada"))
  })

  it("may count a longer time, and tells without taking", () => {
    let now = 1_000_000
    const limit = new RequestRateLimit(5, () => now, 60_000)
    const taken = () => Array.from({ length: 7 }, () => limit.take("ada")).filter(Boolean).length
    assert.isTrue(limit.has("ada"))
    assert.strictEqual(taken(), 5)
    assert.isFalse(limit.has("ada"))
    now += 12_000
    assert.isTrue(limit.has("ada"))
    assert.strictEqual(taken(), 1)
    now += 600_000
    assert.strictEqual(taken(), 5)
  })
})
