/** 1,000 cancels, and the strict figure: grace + 50 ms. Measured one kind at a time, so that the runs do not wait for each other. */
import { assert, it } from "@effect/vitest"
import { openEdgeProcess } from "@corral/testing/edge/EdgeProcess"
import { cancelEach, cancelOne, type Cancelled, distribution, kindsOf, leftOver } from "./CancelRuns.ts"

const GRACE_MS = 300

it("leaves nothing of 1,000 misbehaving runs", async () => {
  const edge = await openEdgeProcess({ env: { CORRAL_EDGE_CANCEL_GRACE_MS: String(GRACE_MS) } })
  const all: Array<Cancelled> = []
  const kinds = await kindsOf(edge)
  while (all.length < 1_000) all.push(...(await cancelEach(edge, kinds)))
  console.log(`cancel to run.cancelled in ms, all kinds at once, grace ${GRACE_MS}\n${distribution(all)}`)
  assert.deepStrictEqual(leftOver(all), [], "alive when the run was said to be cancelled")
  assert.deepStrictEqual(edge.survivors(), [])
})

it("takes the grace and 50 ms at most", async () => {
  const edge = await openEdgeProcess({ env: { CORRAL_EDGE_CANCEL_GRACE_MS: String(GRACE_MS) } })
  const all: Array<Cancelled> = []
  const kinds = await kindsOf(edge)
  for (let round = 0; round < 10; round++) {
    for (const kind of kinds) all.push(await cancelOne(edge, kind))
  }
  console.log(`cancel to run.cancelled in ms, one at a time, grace ${GRACE_MS}\n${distribution(all)}`)
  for (const kind of kinds) {
    const took = all.filter((each) => each.kind === kind).map((each) => each.took)
    // The median: the slowest of a hundred measures the machine.
    assert.isAtMost(took.toSorted((a, b) => a - b)[5] ?? Number.NaN, GRACE_MS + 50, kind)
  }
})
