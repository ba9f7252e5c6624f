/** A little of everything that goes wrong between a Hub and an Edge; `Chaos.soak.test.ts` does it for long. */
import { assert, describe, it } from "@effect/vitest"
import { setTimeout as pause } from "node:timers/promises"
import { chanceOf, duringRun, duringTasks, goOn, restartEdge, restartHub, resync } from "./Chaos.ts"
import { openJoined } from "@corral/testing/stack/Joined"

describe("every event once and in order, every command once", () => {
  it("while the Hub is killed and comes back", async () => {
    const { below } = chanceOf()
    const joined = await openJoined({ edge: { grants: ["full_access"] } })
    let kills = 0
    await duringRun(joined, { events: 3_000, parts: 3, rate: 400 }, async (runId) => {
      if (kills === 2) return pause(100)
      kills++
      // Within a part of 2.5 seconds, however long the Hub takes to come back: the next part waits for it.
      await pause(500 + below(500))
      await restartHub(joined, below(500))
      assert.isBelow(await resync(joined, runId), 5_000)
      await goOn(joined, runId)
    })
    assert.strictEqual(kills, 2)
  })

  it("while the link is cut and slowed", async () => {
    const { below } = chanceOf()
    const joined = await openJoined({ edge: { grants: ["full_access"] } })
    const troubles = ["cut", "slow", "cut"]
    await duringRun(joined, { events: 2_000, rate: 400 }, async () => {
      const trouble = troubles.shift()
      await pause(300 + below(300))
      joined.front.slow = trouble === "slow"
      if (trouble === "cut") joined.front.cut()
    })
    assert.lengthOf(troubles, 0)
  })

  it("while Edge and Hub are killed in turn", async () => {
    const { below } = chanceOf()
    const joined = await openJoined({ edge: { grants: ["full_access"] } })
    const { completed, failed } = await duringTasks(joined, 4, async (round) => {
      await pause(below(150))
      if (round % 3 === 0) await restartHub(joined, below(200))
      if (round % 3 === 1) await restartEdge(joined)
    })
    assert.strictEqual(completed + failed, 4)
    assert.isAtLeast(completed, 1)
  })
})
