/** SIGKILL of the Edge in the middle of its work: nothing acknowledged is lost, nothing is left running. */
import { assert, describe, it } from "@effect/vitest"
import { openEdgeProcess } from "@corral/testing/edge/EdgeProcess"
import { Seeded } from "../harness/Seeded.ts"
import { assertAllOver, killEdge } from "../e2e/KillEdge.ts"

describe("A killed Edge", () => {
  it("keeps what it acknowledged and ends what it left, 4 times", async () => {
    // Two Edges side by side: most of the time goes to starting them again.
    const lanes = [1, 2].map(async (lane) => {
      const seeded = new Seeded(`2 kills of Edge ${lane}`)
      const edge = await openEdgeProcess()
      for (let kill = 0; kill < 2; kill++) await killEdge(edge, seeded)
      assert.isAtLeast(await assertAllOver(edge), 6)
    })
    await Promise.all(lanes)
  })
})
