import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { publicationOrder } from "./PublicationOrder.ts"

const fields = ["dependencies", "peerDependencies", "optionalDependencies"] as const

/** Packages that depend on packages before them only, then shuffled. */
const packages = fc
  .uniqueArray(fc.stringMatching(/^[a-z]{1,6}$/), { minLength: 1, maxLength: 12 })
  .chain((names) =>
    fc.tuple(
      ...names.map((name, at) =>
        fc.record({
          name: fc.constant(name),
          needs: fc.subarray([...names.slice(0, at), "a-library"]),
          field: fc.constantFrom(...fields)
        })
      )
    )
  )
  .chain((all) => fc.shuffledSubarray(all, { minLength: all.length }))
  .map((all) =>
    all.map(({ field, name, needs }) => ({
      name,
      [field]: Object.fromEntries(needs.map((each) => [each, "1.0.0"]))
    }))
  )

describe("publicationOrder", () => {
  it("has each package once, after its parts", () => {
    fc.assert(
      fc.property(packages, (all) => {
        const order = publicationOrder(all)
        const names = order.map(({ name }) => name)
        assert.deepStrictEqual(names.toSorted(), all.map(({ name }) => name).toSorted())
        for (const [at, each] of order.entries()) {
          const needs = fields.flatMap((field) => Object.keys(each[field] ?? {}))
          for (const need of needs) assert.isBelow(names.indexOf(need), at)
        }
      })
    )
  })

  it("rejects packages that depend on each other", () => {
    const all = [
      { name: "a", dependencies: { b: "1" } },
      { name: "b", optionalDependencies: { a: "1" } }
    ]
    assert.throws(() => publicationOrder(all), /a → b → a/)
  })
})
