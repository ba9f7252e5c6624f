import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { latestFirst } from "../../src/chat/HubPlace.ts"

describe("latestFirst", () => {
  it("has the items that were chosen last in their order, then the others in theirs", () => {
    const ids = fc.uniqueArray(fc.constantFrom("a", "b", "c", "d", "e", "f"))
    fc.assert(
      fc.property(ids, ids, (all, latest) => {
        const ordered = latestFirst(
          all.map((id) => ({ id })),
          [undefined, ...latest]
        ).map(({ id }) => id)
        assert.deepStrictEqual(ordered, [
          ...latest.filter((id) => all.includes(id)),
          ...all.filter((id) => !latest.includes(id))
        ])
      })
    )
  })
})
