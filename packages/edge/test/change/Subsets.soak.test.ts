/** 10,000 subsets of changes equal `git apply` of the same subset. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { Seeded } from "../harness/Seeded.ts"
import { checkSubsets, shadowPlace } from "./Subsets.ts"

// Git does most of the work, in other processes: parts at the same time use more processors.
describe("10,000 subsets of changes", { concurrent: true }, () => {
  it.live.each([1, 2])("equal `git apply`, or are refused as git refuses them, part %s", (part) =>
    Effect.gen(function* () {
      const seeded = new Seeded(`10,000 subsets of changes, part ${part}`)
      const counts = { equal: 0, refused: 0, survived: 0, changed: 0 }
      while (counts.equal + counts.refused < 5_000) {
        yield* Effect.scoped(
          Effect.flatMap(shadowPlace, ({ shadow }) =>
            Effect.repeat(checkSubsets(shadow, seeded, 20, counts), { times: 24 })
          )
        )
      }
      console.log(counts)
      assert.isBelow(counts.refused, 250)
      assert.isBelow(counts.changed, counts.survived / 20)
    })
  )
})
