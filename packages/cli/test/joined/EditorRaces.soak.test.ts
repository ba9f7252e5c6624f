/** A thousand decisions that an editor of each protocol, the console, a terminal and a chat make at the same time. */
import { assert, describe, it, onTestFinished } from "@effect/vitest"
import { Chats } from "./Chats.ts"
import { EditorHomes } from "./EditorHomes.ts"
import { raceDecisions } from "./EditorRaces.ts"
import { clientProtocolEditor, openHostEditor, team } from "./RacingEditors.ts"

const RACES = Number(process.env["CORRAL_TEST_RACES"] ?? 1_000)

const openChats = async (): Promise<Chats> => {
  const chats = await Chats.open()
  onTestFinished(() => chats.remove())
  return chats
}

/** None of them wins by rule. */
const checkWins = (wins: ReadonlyMap<string, number>): void => {
  console.log(JSON.stringify(Object.fromEntries(wins)))
  assert.strictEqual(wins.size, 4, JSON.stringify([...wins]))
}

describe("decisions in an editor, the console, a terminal and a chat", { timeout: 1_200_000 }, () => {
  it("have one winner each, whom every client names, with the Agent Client Protocol", async () => {
    const homes = new EditorHomes()
    onTestFinished(() => homes.remove())
    const chats = await openChats()
    const editor = clientProtocolEditor(await homes.open(chats.joined.owner))
    checkWins(await raceDecisions(chats, editor, RACES))
  })

  it("have one winner each, whom every client names, of four users with the Agent Host Protocol", async () => {
    const chats = await openChats()
    checkWins(await raceDecisions(chats, await openHostEditor(chats.joined), RACES, team))
  })
})
