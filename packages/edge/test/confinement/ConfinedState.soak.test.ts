/** As `ConfinedState.test.ts`, with 10,000 generated files in each mode. */
import { describe, it } from "@effect/vitest"
import { canConfine } from "./CanConfine.ts"
import { assertNothingPlanted, confinedModes } from "./ConfinedPlanting.ts"

const ROUNDS = 25
const COUNT = 400

describe.runIf(canConfine)("A confined run", { timeout: 1_800_000 }, () => {
  it.each(confinedModes)("in %s leaves nothing in the user's home", async (mode) => {
    for (let round = 0; round < ROUNDS; round++) await assertNothingPlanted(mode, COUNT)
  })
})
