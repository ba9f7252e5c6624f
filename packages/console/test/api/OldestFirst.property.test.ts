import { assert, describe, it } from "@effect/vitest"
import { mint } from "@corral/service/Identifiers"
import * as fc from "fast-check"
import { oldestFirst } from "../../src/api/Pending.ts"

const start = 1_800_000_000_000

describe("oldestFirst", () => {
  it("returns requests in the order in which a device made them, however a list has them, also within one millisecond", () => {
    const requests = fc
      .array(fc.integer({ min: 0, max: 1 }), { maxLength: 40 })
      .map((steps) => {
        let now = start
        return steps.map((step) => {
          now += step
          return { id: mint("apr", now), requestedAt: new Date(now).toISOString() }
        })
      })
      .chain((inOrder) =>
        fc.shuffledSubarray(inOrder, { minLength: inOrder.length }).map((listed) => ({ inOrder, listed }))
      )
    fc.assert(
      fc.property(requests, ({ inOrder, listed }) => assert.deepStrictEqual(oldestFirst(listed), inOrder))
    )
  })
})
