/** Many decisions that end after each of their steps, and whose reversals end after each of theirs. */
import { describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { Seeded } from "../harness/Seeded.ts"
import { checkCrashes } from "./Crashes.ts"
import { checkKills, mixedTrees } from "./Interrupted.ts"
import { shadowPlace } from "./Subsets.ts"

describe("20,000 decisions that end in the middle", () => {
  it.live("are complete or absent", () =>
    Effect.gen(function* () {
      const seeded = new Seeded("20,000 decisions that end in the middle")
      let tried = 0
      while (tried < 20_000)
        tried += yield* Effect.scoped(
          Effect.flatMap(shadowPlace, ({ folder, shadow }) => checkCrashes(folder, shadow, seeded))
        )
    })
  )
})

describe("A decision of which each process ends", () => {
  it.live("is complete or absent", () => checkKills(mixedTrees))
})
