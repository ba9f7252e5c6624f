/** Subsets of changes equal `git apply` of the same subset. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { Seeded } from "../harness/Seeded.ts"
import { checkSubsets, shadowPlace } from "./Subsets.ts"

describe("Subsets of changes", () => {
  it.live(
    "equal `git apply`, and leave the ids of other hunks",
    () =>
      Effect.gen(function* () {
        const { shadow } = yield* shadowPlace
        const seeded = new Seeded("subsets of changes")
        const counts = { equal: 0, refused: 0, survived: 0, changed: 0 }
        for (let at = 0; at < 5; at++) yield* checkSubsets(shadow, seeded, 10, counts)
        assert.isAbove(counts.equal, 30)
        assert.isBelow(counts.changed, counts.survived / 20)
      }).pipe(Effect.scoped),
    120_000
  )
})
