/** SIGKILL of the Edge while layers are made and used: the workspace stays as it is, and a layer keeps what it had. */
import { assert, describe, it } from "@effect/vitest"
import { readdirSync } from "node:fs"
import { openEdgeProcess } from "@corral/testing/edge/EdgeProcess"
import { canConfine } from "../confinement/CanConfine.ts"
import { Seeded } from "../harness/Seeded.ts"
import { fillWorkspace, killLayers } from "./LayerKills.ts"

const CONFINED = { CORRAL_EDGE_CONFINEMENT: "required", CORRAL_EDGE_CANCEL_GRACE_MS: "300" }

describe.skipIf(!canConfine)("A killed Edge with layers", () => {
  it("continues a run that outlives it in the same layer", async () => {
    const edge = await openEdgeProcess({ env: { ...CONFINED, CORRAL_EDGE_ORPHAN_MS: "60000" } })
    fillWorkspace(edge.workspace)
    const run = await edge.client.create("/write one.txt 1\n/wait\n/write two.txt 2", "auto_edit", {
      isolation: "overlay"
    })
    await (await edge.client.follow({ runId: run.id })).event("run.file.changed")
    await edge.kill()
    await edge.start()
    assert.deepStrictEqual((await edge.client.run(run.id)).layer, run.layer)
    await edge.client.ask("POST", `/v1/runs/${run.id}/input`, { body: { text: "go on" } })
    const log = await edge.client.log(run.id)
    assert.strictEqual(log.at(-1)?.type, "run.completed")
    assert.deepInclude(log.find(({ type }) => type === "run.diff.ready")?.payload, { files: 2 })
    assert.notIncludeMembers(readdirSync(edge.workspace), ["one.txt", "two.txt"])
  })

  it("leaves the workspace as it is, regardless of what is killed", async () => {
    const edge = await openEdgeProcess({ env: { ...CONFINED, CORRAL_EDGE_ORPHAN_MS: "60000" } })
    fillWorkspace(edge.workspace)
    const live = await killLayers({ edge, seeded: new Seeded("killed layers"), runs: 16 })
    assert.isAbove(live, 0)
    assert.deepStrictEqual(edge.survivors(), [])
  })
})
