/** A thousand decisions that an editor, the console, a terminal and a chat make at the same time. */
import { assert, describe, it, onTestFinished } from "@effect/vitest"
import { Chats } from "./Chats.ts"
import { EditorHomes } from "./EditorHomes.ts"
import { raceDecisions } from "./EditorRaces.ts"

describe("decisions in an editor, the console, a terminal and a chat", { timeout: 1_200_000 }, () => {
  it("have one winner each, whom every client names", async () => {
    const homes = new EditorHomes()
    onTestFinished(() => homes.remove())
    const chats = await Chats.open()
    onTestFinished(() => chats.remove())
    const wins = await raceDecisions(chats, homes, 1_000)
    console.log(JSON.stringify(Object.fromEntries(wins)))
    // None of them wins by rule.
    assert.strictEqual(wins.size, 4, JSON.stringify([...wins]))
  })
})
