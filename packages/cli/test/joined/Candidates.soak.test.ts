/** Groups of candidates, killed at random: by their Hub or their Edge, between any two steps. `CORRAL_SEED` does the same again. */
import { openJoined } from "@corral/testing/stack/Joined"
import { assert, describe, it } from "@effect/vitest"
import { killGroup, SLOTS, verifySlots, withBase } from "./CandidateKills.ts"
import { chanceOf } from "./Chaos.ts"

const rounds = Number(process.env["CORRAL_TEST_RUNS"] ?? 200)

describe("candidates whose Hub and Edge are killed", { timeout: 7_200_000 }, () => {
  it("are neither lost nor started twice, and leave no slot taken", async () => {
    const chance = chanceOf()
    const joined = await openJoined({
      makeEdge: withBase,
      edge: { grants: ["full_access"], env: { CORRAL_EDGE_MAX_RUNS: String(SLOTS) } }
    })
    const done = new Map<string, number>()
    for (let round = 0; round < rounds; round++) {
      const plan = await killGroup({ joined, chance, isolation: "worktree" }, round)
      done.set(plan, (done.get(plan) ?? 0) + 1)
    }
    process.stderr.write(`${rounds} groups: ${JSON.stringify(Object.fromEntries(done))}\n`)
    await verifySlots(joined)
    assert.deepStrictEqual(joined.edge.survivors(), [])
  })
})
