/** A thousand reconnects of editors at an Edge and at a Hub while both are killed. `CORRAL_SEED` repeats a run. */
import { openJoined } from "@corral/testing/stack/Joined"
import { assert, it } from "@effect/vitest"
import { chanceOf } from "./Chaos.ts"
import { HostReconnects, lastingRuns } from "./HostReconnects.ts"

const RECONNECTS = Number(process.env["CORRAL_TEST_RECONNECTS"] ?? 1_000)

it("1,000 reconnects at random positions, with killed services, lose nothing and repeat nothing", async () => {
  const joined = await openJoined({ edge: { env: lastingRuns } })
  const options = { reconnects: RECONNECTS, editors: 3, restartAfter: 50 }
  const startedAt = performance.now()
  const counts = await new HostReconnects(joined, chanceOf(), options).run()
  const seconds = Math.round((performance.now() - startedAt) / 1_000)
  console.log(`${RECONNECTS} reconnects in ${seconds} s: ${JSON.stringify(counts)}`)
  assert.isAtLeast(counts.replay, RECONNECTS / 2)
  assert.isAtLeast(counts.begin, counts.edgeKills + counts.hubKills)
})
