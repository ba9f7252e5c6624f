/** 10,000 subsets of changes equal `git apply` of the same subset. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { Seeded } from "../harness/Seeded.ts"
import { checkSubsets, shadowPlace } from "./Subsets.ts"

describe("10,000 subsets of changes", () => {
  it.live("equal `git apply`, or are refused as git refuses them", () =>
    Effect.gen(function* () {
      const seeded = new Seeded("10,000 subsets of changes")
      const counts = { equal: 0, refused: 0, survived: 0, changed: 0 }
      while (counts.equal + counts.refused < 10_000) {
        yield* Effect.scoped(
          Effect.flatMap(shadowPlace, ({ shadow }) =>
            Effect.repeat(checkSubsets(shadow, seeded, 20, counts), { times: 24 })
          )
        )
      }
      console.log(counts)
      assert.isBelow(counts.refused, 500)
      assert.isBelow(counts.changed, counts.survived / 20)
    })
  )
})
