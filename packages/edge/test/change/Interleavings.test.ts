/** No edit of a person is lost, and an undo is exact. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { Store } from "../../src/store/Store.ts"
import { Seeded } from "../harness/Seeded.ts"
import { checkInterleaving, checkPlacements, checkUndo, placementsOf } from "./Interleavings.ts"
import { shadowPlace } from "./Subsets.ts"

describe("Decisions", () => {
  it.live(
    "lose no edit that a person makes meanwhile",
    () =>
      Effect.gen(function* () {
        const { folder, shadow } = yield* shadowPlace
        const seeded = new Seeded("edits during decisions")
        const counts = { done: 0, conflict: 0, edits: 0, left: 0 }
        for (let at = 0; at < 30; at++) yield* checkInterleaving(folder, shadow, seeded, counts)
        console.log(counts)
        assert.isAbove(counts.done, 5)
        assert.isAbove(counts.edits, 15)
      }).pipe(Effect.provide(Store.layerMemory), Effect.scoped),
    120_000
  )

  it.live("lose no edit at the first calls of the system", () =>
    Effect.gen(function* () {
      const { folder, shadow } = yield* shadowPlace
      const seeded = new Seeded("edits at the first calls of a decision")
      const placements = placementsOf(3, 8)
      assert.strictEqual(yield* checkPlacements(folder, shadow, seeded, placements), 3 * placements.length)
    }).pipe(Effect.provide(Store.layerMemory), Effect.scoped)
  )

  it.live(
    "are undone exactly",
    () =>
      Effect.gen(function* () {
        const { folder, shadow } = yield* shadowPlace
        const seeded = new Seeded("undo of decisions")
        const ends = []
        for (let at = 0; at < 15; at++) ends.push(yield* checkUndo(folder, shadow, seeded))
        assert.isNotEmpty(ends)
      }).pipe(Effect.provide(Store.layerMemory), Effect.scoped),
    120_000
  )
})
