/** Confinement of a run over the whole chain: what the Edge decided reaches the Hub's run, its lists and the command line. */
import { assert, describe, it } from "@effect/vitest"
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import { openJoined } from "@corral/testing/stack/Joined"

/** A PATH without bubblewrap. */
const WITHOUT = { PATH: "/nowhere" }
const REASON = "bubblewrap is not installed."

describe("confinement at the Hub", () => {
  it("is part of a run, with the reason why the run is not confined", async () => {
    const joined = await openJoined({ edge: { env: { ...WITHOUT, CORRAL_EDGE_CONFINEMENT: "preferred" } } })
    const { runId } = await joined.task({ text: "/say done" })
    const run = await joined.runWith(runId, ({ state }) => state === "completed")
    assert.deepStrictEqual(run.confinement, { kind: "none", reason: REASON })
    const { body } = await joined.owner.ask<{ readonly items: ReadonlyArray<HubRun> }>("GET", "/client/runs")
    assert.deepStrictEqual(body.items[0]?.confinement, run.confinement)
  })

  it("is absent from runs of a device that does not confine runs", async () => {
    const joined = await openJoined()
    const { runId } = await joined.task({ text: "/say done" })
    assert.notProperty(await joined.runWith(runId, ({ state }) => state === "completed"), "confinement")
  })
})
