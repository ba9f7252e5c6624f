import { assert, describe, it } from "@effect/vitest"
import { RateLimit } from "../../src/http/EdgeRequestPolicy.ts"

/** Number of requests that pass, of a number of requests. */
const taken = (limit: RateLimit, count: number, holdsToken = true): number =>
  Array.from({ length: count }, () => limit.take(holdsToken)).filter(Boolean).length

describe("RateLimit", () => {
  it("lets a second's worth through at once, and then as much as time brings", () => {
    let now = 5_000
    const limit = new RateLimit(100, () => now)
    assert.strictEqual(taken(limit, 150), 100)
    now += 10
    assert.strictEqual(taken(limit, 5), 1)
    now += 250
    assert.strictEqual(taken(limit, 50), 25)
    now += 3_600_000
    assert.strictEqual(taken(limit, 150), 100, "an hour saves up no more than a second")
  })

  it("adds up what is less than one request", () => {
    let now = 0
    const limit = new RateLimit(1, () => now)
    assert.isTrue(limit.take(true))
    for (now = 100; now <= 900; now += 100) assert.isFalse(limit.take(true), String(now))
    now = 1_001
    assert.isTrue(limit.take(true))
  })

  it("counts who holds the token and who does not apart", () => {
    const limit = new RateLimit(10, () => 0)
    assert.strictEqual(taken(limit, 100, false), 10)
    assert.strictEqual(taken(limit, 100, true), 10)
  })

  it("neither gives nor takes where the clock is set back", () => {
    let now = 10_000
    const limit = new RateLimit(10, () => now)
    assert.strictEqual(taken(limit, 4), 4)
    now = 1_000
    assert.strictEqual(taken(limit, 10), 6)
    now = 1_500
    assert.strictEqual(taken(limit, 10), 5)
  })
})
