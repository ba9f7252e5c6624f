import { describe, expect, it } from "@effect/vitest"
import * as fc from "fast-check"
import { SparseMap } from "@corral/domain/run/SparseMap"

const change = fc.record({ key: fc.nat({ max: 4 }), value: fc.option(fc.nat(), { nil: undefined }) })

describe("SparseMap", () => {
  it("has the entries of a map after any changes", () => {
    fc.assert(
      fc.property(fc.array(change), (changes) => {
        const [map, model] = [new SparseMap<number, number>(), new Map<number, number>()]
        for (const { key, value } of changes) {
          if (value === undefined) expect(map.delete(key)).toBe(model.delete(key))
          else {
            map.set(key, value)
            model.set(key, value)
          }
          expect(map.size).toBe(model.size)
          expect(map.get(key)).toBe(model.get(key))
          expect(map.has(key)).toBe(model.has(key))
          expect(map.keys()).toEqual([...model.keys()])
          expect(map.values()).toEqual([...model.values()])
        }
      })
    )
  })
})
