/** Editors of the Agent Host Protocol over real processes: reconnects while services are killed, and races with other clients. */
import { openJoined } from "@corral/testing/stack/Joined"
import { assert, describe, it, onTestFinished } from "@effect/vitest"
import { chanceOf } from "./Chaos.ts"
import { Chats } from "./Chats.ts"
import { raceDecisions } from "./EditorRaces.ts"
import { HostReconnects, lastingRuns } from "./HostReconnects.ts"
import { openHostEditor, team } from "./RacingEditors.ts"

describe("editors of the Agent Host Protocol", () => {
  it("lose nothing and receive nothing twice over cuts and killed services", async () => {
    const joined = await openJoined({ edge: { env: lastingRuns } })
    const options = { reconnects: 40, editors: 1, restartAfter: 15 }
    const counts = await new HostReconnects(joined, chanceOf(), options).run()
    assert.strictEqual(counts.edgeKills + counts.hubKills, 2)
  })

  it("show the winner of each race with the console, a terminal and a chat", async () => {
    const chats = await Chats.open()
    onTestFinished(() => chats.remove())
    const wins = await raceDecisions(chats, await openHostEditor(chats.joined), 10, team)
    assert.strictEqual(
      [...wins.values()].reduce((sum, count) => sum + count, 0),
      10
    )
  })
})
