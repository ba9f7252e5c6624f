import { RunId } from "@corral/domain/identity/Ids"
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import * as fc from "fast-check"
import { mint } from "../src/Identifiers.ts"

/** Milliseconds that repeat, stand still and step back, as clocks do. */
const clocks = fc.array(fc.integer({ min: 1_800_000_000_000, max: 1_800_000_000_003 }), {
  minLength: 1,
  maxLength: 200
})

describe("mint", () => {
  it("makes ids of their brand, all different", () => {
    fc.assert(
      fc.property(clocks, (times) => {
        const ids = times.map((time) => mint("run", time))
        assert.strictEqual(new Set(ids).size, ids.length)
        assert.isTrue(ids.every(Schema.is(RunId)))
      })
    )
  })

  it("orders ids of one millisecond as they were made, however many there are", () => {
    const time = 1_800_000_000_000
    const ids = Array.from({ length: 20_000 }, () => mint("apr", time))
    assert.deepStrictEqual(ids.toSorted(), ids)
  })

  it("orders ids of one batch of requests between those of others", () => {
    fc.assert(
      fc.property(clocks, (times) => {
        for (const time of times) {
          const batch = [mint("apr", time), mint("inq", time), mint("apr", time)].map((id) => id.slice(4))
          assert.deepStrictEqual(batch.toSorted(), batch)
        }
      })
    )
  })
})
