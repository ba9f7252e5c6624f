import { assert, describe, it } from "@effect/vitest"
import { capped } from "../../src/text/CappedPattern.ts"

const short = "a1b22"
const long = `${short}c`

describe("capped", () => {
  it("matches as the pattern does up to the limit, by every method", () => {
    const pattern = capped(5, /\d+/g)
    assert.deepStrictEqual(short.match(pattern), ["1", "22"])
    assert.deepStrictEqual(
      [...short.matchAll(pattern)].map(([found]) => found),
      ["1", "22"]
    )
    assert.strictEqual(short.replaceAll(pattern, "-"), "a-b-")
    assert.deepStrictEqual(short.split(capped(5, /\d+/)), ["a", "b", ""])
    assert.strictEqual(short.search(pattern), 1)
    assert.isTrue(capped(5, /\d+/).test(short))
    const sticky = capped(5, /[a-z]\d+/y)
    assert.deepStrictEqual([sticky.test(short), sticky.lastIndex, sticky.test(short)], [true, 2, true])
  })

  it("matches nothing in a longer text, by any method", () => {
    const pattern = capped(5, /\d+/g)
    assert.isNull(long.match(pattern))
    assert.deepStrictEqual([...long.matchAll(pattern)], [])
    assert.strictEqual(long.replaceAll(pattern, "-"), long)
    assert.deepStrictEqual(long.split(capped(5, /\d+/)), [long])
    assert.strictEqual(long.search(pattern), -1)
    assert.isFalse(capped(5, /\d+/).test(long))
  })
})
