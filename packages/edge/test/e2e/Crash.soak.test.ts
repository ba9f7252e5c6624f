/** The same as `Crash.test.ts`, 200 times. */
import { assert, it } from "@effect/vitest"
import { openEdgeProcess } from "@corral/testing/edge/EdgeProcess"
import { Seeded } from "../harness/Seeded.ts"
import { assertAllOver, killEdge } from "./KillEdge.ts"

it("keeps what it acknowledged and ends what it left, 200 times", async () => {
  const seeded = new Seeded("200 kills")
  const edge = await openEdgeProcess()
  for (let kill = 0; kill < 200; kill++) await killEdge(edge, seeded)
  assert.isAtLeast(await assertAllOver(edge), 600)
})
