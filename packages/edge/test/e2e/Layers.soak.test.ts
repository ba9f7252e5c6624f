/** 1,000 runs in layers, killed at random: by their Edge, by their holder, or all processes together. */
import { assert, describe, it, onTestFinished } from "@effect/vitest"
import { EdgeProcess } from "@corral/testing/edge/EdgeProcess"
import { canConfine } from "../confinement/CanConfine.ts"
import { Seeded } from "../harness/Seeded.ts"
import { fillWorkspace, killLayers } from "./LayerKills.ts"

const runs = Number(process.env["CORRAL_TEST_RUNS"] ?? 1_000)

describe.skipIf(!canConfine)("Killed layers", () => {
  it("leave the workspace as it is", { timeout: 7_200_000 }, async () => {
    const edge = new EdgeProcess({
      env: {
        CORRAL_EDGE_CONFINEMENT: "required",
        CORRAL_EDGE_ORPHAN_MS: "120000",
        CORRAL_EDGE_CANCEL_GRACE_MS: "300",
        CORRAL_EDGE_REQUESTS_PER_SECOND: "1000000"
      }
    })
    onTestFinished(() => edge.remove())
    await edge.start()
    fillWorkspace(edge.workspace)
    const live = await killLayers({ edge, seeded: new Seeded("1,000 killed layers"), runs })
    console.log(`${live} of ${runs} runs were live when they were killed`)
    assert.isAbove(live, 0)
    assert.deepStrictEqual(edge.survivors(), [])
  })
})
