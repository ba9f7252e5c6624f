/** How soon the next Edge accepts a decision for a run that has printed much: it reads all of the run's output again. */
import { EdgeProcess } from "@corral/testing/edge/EdgeProcess"
import { assert, it, onTestFinished } from "@effect/vitest"
import { assertWhole } from "../harness/LogInvariants.ts"

/** A delta of 100 characters is a line of 154 bytes. */
const DELTAS = 70_000
const LIMIT_MS = 2_000

it("accepts a decision within 2 s of its start, with 10 MB of output", { timeout: 300_000 }, async () => {
  const edge = new EdgeProcess({ env: { CORRAL_EDGE_ORPHAN_MS: "120000" } })
  onTestFinished(() => edge.remove())
  await edge.start()
  const { id } = await edge.client.create(`/stream ${DELTAS} 0 100\n/ask\n/say over`)
  const before = await edge.client.follow({ runId: id })
  const { payload } = await before.event("run.approval.requested")
  await edge.kill()
  const begin = performance.now()
  await edge.start()
  const started = performance.now()
  const { status } = await edge.client.decide(id, String(payload["approvalId"]), "allow")
  const decided = performance.now()
  console.log(
    `${(decided - begin).toFixed(0)} ms from the start, ${(decided - started).toFixed(0)} ms from the ready line`
  )
  assert.strictEqual(status, 200)
  assert.isAtMost(decided - begin, LIMIT_MS)
  const after = await edge.client.follow({ runId: id })
  assert.strictEqual((await after.ended).code, 1000)
  assertWhole(after.events)
  // And two words.
  assert.strictEqual(after.events.filter(({ type }) => type === "run.message.delta").length, DELTAS + 2)
})
