/** 10,000 decisions with edits of a person between their steps, three edits at each of their places, and 1,000 undone decisions. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { Store } from "../../src/store/Store.ts"
import { Seeded } from "../harness/Seeded.ts"
import { checkInterleaving, checkPlacements, checkUndo, placementsOf } from "./Interleavings.ts"
import { shadowPlace } from "./Subsets.ts"

/** Repositories of states grow: each has this many cases. */
const EACH = 250
/** Calls of the system of a decision that is planned three times. */
const CALLS = 36

// Git does most of the work, in other processes: parts at the same time use more processors.
describe("Many decisions", { concurrent: true }, () => {
  it.live.each([1, 2])("lose no edit in 10,000 cases, part %s", (part) =>
    Effect.gen(function* () {
      const seeded = new Seeded(`10,000 edits during decisions, part ${part}`)
      const counts = { done: 0, conflict: 0, edits: 0, left: 0 }
      while (counts.done + counts.conflict < 5_000)
        yield* Effect.scoped(
          Effect.gen(function* () {
            const { folder, shadow } = yield* shadowPlace
            for (let at = 0; at < EACH; at++) yield* checkInterleaving(folder, shadow, seeded, counts)
          }).pipe(Effect.provide(Store.layerMemory))
        )
      console.log(counts)
      assert.isBelow(counts.left, counts.conflict / 2)
    })
  )

  it.live("lose none of three edits, at any places", () =>
    Effect.gen(function* () {
      const seeded = new Seeded("three edits at each of their places")
      const placements = placementsOf(3, CALLS)
      for (let from = 0; from < placements.length; from += EACH)
        yield* Effect.scoped(
          Effect.gen(function* () {
            const { folder, shadow } = yield* shadowPlace
            yield* checkPlacements(folder, shadow, seeded, placements.slice(from, from + EACH))
          }).pipe(Effect.provide(Store.layerMemory))
        )
    })
  )

  it.live("are undone exactly in 1,000 cases", () =>
    Effect.gen(function* () {
      const seeded = new Seeded("1,000 undone decisions")
      const ends = { done: 0, conflict: 0 }
      while (ends.done + ends.conflict < 1_000)
        yield* Effect.scoped(
          Effect.gen(function* () {
            const { folder, shadow } = yield* shadowPlace
            for (let at = 0; at < EACH; at++) ends[yield* checkUndo(folder, shadow, seeded)]++
          }).pipe(Effect.provide(Store.layerMemory))
        )
      console.log(ends)
      assert.isAbove(ends.conflict, 0)
    })
  )
})
