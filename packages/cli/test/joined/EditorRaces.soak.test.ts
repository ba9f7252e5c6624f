/** A thousand decisions that an editor, the console and a terminal make at the same time. */
import { openJoined } from "@corral/testing/stack/Joined"
import { assert, describe, it, onTestFinished } from "@effect/vitest"
import { EditorHomes } from "./EditorHomes.ts"
import { raceDecisions } from "./EditorRaces.ts"

describe("decisions in an editor, the console and a terminal", { timeout: 1_200_000 }, () => {
  it("have one winner each, whom every client names", async () => {
    const homes = new EditorHomes()
    onTestFinished(() => homes.remove())
    const wins = await raceDecisions(await openJoined(), homes, 1_000)
    // None of them wins by rule.
    assert.isAtLeast(wins.size, 2, JSON.stringify([...wins]))
  })
})
