import { assert, describe, it } from "@effect/vitest"
import { countOperations } from "@corral/testing/time/CountedOperations"
import { tries } from "@corral/testing/time/Effort"
import { Schema } from "effect"
import { VersionedMap } from "../../src/run/VersionedMap.ts"

/** A change of a version. `of` names the version; most changes continue the newest. */
const Change = Schema.Struct({
  of: Schema.Literals([0, 0, 0, 0, 1, 2, 5]),
  key: Schema.Literals(["a", "b", "c", "d", "e"]),
  isDeleted: Schema.Boolean
})

describe("VersionedMap", () => {
  it.prop(
    "equals a map that is copied for each change, in every version",
    [Schema.Array(Change).check(Schema.isMaxLength(60))],
    ([changes]) => {
      const versions = [{ map: VersionedMap.empty<string, number>(), model: new Map<string, number>() }]
      for (const [n, { isDeleted, key, of }] of changes.entries()) {
        const version = versions[Math.max(0, versions.length - 1 - of)]
        assert(version !== undefined)
        const model = new Map(version.model)
        if (isDeleted) model.delete(key)
        else model.set(key, n)
        versions.push({
          map: isDeleted ? version.map.delete(key) : version.map.set(key, n),
          model
        })
      }
      for (const { map, model } of versions) {
        assert.strictEqual(map.size, model.size)
        assert.deepStrictEqual(map.entries(), [...model])
        assert.deepStrictEqual(map.keys(), [...model.keys()])
        assert.deepStrictEqual(map.values(), [...model.values()])
        assert.deepStrictEqual(map.first(2), [...model.values()].slice(0, 2))
        for (const key of ["a", "b", "c", "d", "e"]) {
          assert.strictEqual(map.get(key), model.get(key))
          assert.strictEqual(map.has(key), model.has(key))
        }
      }
    },
    tries(300)
  )

  it("changes one version after the other with the same number of operations", () => {
    const operationsAt = (size: number): number => {
      let map = VersionedMap.of(Array.from({ length: size }, (_, n) => [n, n] as const))
      return countOperations(() => {
        map = map.set(size, 0).delete(0).set(1, 1).delete(2)
        map.first(3)
      })
    }
    assert.strictEqual(operationsAt(10_000), operationsAt(10))
  })
})
