/** Cancel, with runtimes that stop, ignore it or fail. Its duration is asserted in `Cancel.soak.test.ts`, over many more. */
import { assert, describe, it } from "@effect/vitest"
import { openEdgeProcess } from "@corral/testing/edge/EdgeProcess"
import { cancelEach, type Cancelled, distribution, kindsOf, leftOver } from "./CancelRuns.ts"

const GRACE_MS = 300

describe("Cancel", () => {
  it.each([
    ["auto", 22],
    ["environment_mark", 11]
  ])("leaves nothing of misbehaving runs, containment %s", async (containment, least) => {
    const edge = await openEdgeProcess({
      env: { CORRAL_EDGE_CANCEL_GRACE_MS: String(GRACE_MS), CORRAL_EDGE_CONTAINMENT: containment }
    })
    const kinds = await kindsOf(edge)
    const all: Array<Cancelled> = []
    while (all.length < least) all.push(...(await cancelEach(edge, kinds)))
    console.log(`cancel to run.cancelled in ms, ${containment}, grace ${GRACE_MS}\n${distribution(all)}`)
    assert.deepStrictEqual(leftOver(all), [], "alive when the run was said to be cancelled")
    assert.deepStrictEqual(edge.survivors(), [])
    assert.deepStrictEqual(await edge.client.approvals("state=pending"), [])
  })

  it("answers again on a cancelled run, and refuses on one that ended otherwise", async () => {
    const { client } = await openEdgeProcess()
    const hanging = await client.create("/say ready\n/sleep 60000")
    const reader = await client.follow({ runId: hanging.id })
    await reader.message("ready")
    const [first, second] = await Promise.all([client.cancel(hanging.id), client.cancel(hanging.id)])
    assert.deepStrictEqual([first.status, second.status], [200, 200])
    const third = await client.cancel(hanging.id)
    assert.strictEqual(third.status, 200)
    assert.deepStrictEqual(third.body, first.body)
    assert.strictEqual((await reader.event("run.cancelled")).payload["by"], "local")

    for (const script of ["/say done", "/fail on purpose"]) {
      const run = await client.create(script)
      await client.log(run.id)
      const refused = await client.cancel(run.id)
      assert.strictEqual(refused.status, 409)
      assert.strictEqual((refused.body as { readonly code?: unknown }).code, "run_not_cancellable")
    }
    assert.strictEqual((await client.cancel("run_00000000000000000000000000")).status, 404)
  })
})
