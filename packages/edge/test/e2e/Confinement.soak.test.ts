/** Confined runs that end in every way, with each means of containment. */
import { assert, describe, it } from "@effect/vitest"
import { openEdgeProcess } from "@corral/testing/edge/EdgeProcess"
import { canConfine } from "../confinement/CanConfine.ts"
import { cancelEach, kindsOf, leftOver, misbehaviours, type Misbehaviour } from "./CancelRuns.ts"

const CONFINED = { CORRAL_EDGE_CONFINEMENT: "required", CORRAL_EDGE_CANCEL_GRACE_MS: "300" }

/** Also without control groups: what leaves its session and its marks stays in its process namespace. */
const all = Object.keys(misbehaviours) as ReadonlyArray<Misbehaviour>

describe.skipIf(!canConfine)("confined runs", () => {
  it.each(["auto", "environment_mark"])(
    "leave nothing when cancelled, containment %s",
    { timeout: 240_000 },
    async (containment) => {
      const edge = await openEdgeProcess({ env: { ...CONFINED, CORRAL_EDGE_CONTAINMENT: containment } })
      assert.includeMembers([...all], [...(await kindsOf(edge))])
      for (let round = 0; round < 3; round++)
        assert.deepStrictEqual(leftOver(await cancelEach(edge, all)), [])
      assert.deepStrictEqual(edge.survivors(), [])
    }
  )

  it.each([
    ["/exit 7", "7"],
    ["/crash", "SIG"],
    ["/fail on purpose", "on purpose"]
  ])("end like other runs: %s", async (script, expected) => {
    const edges = await Promise.all([
      openEdgeProcess({ env: CONFINED }),
      openEdgeProcess({ env: { ...CONFINED, CORRAL_EDGE_CONFINEMENT: "off" } })
    ])
    const [one, other] = await Promise.all(
      edges.map(async ({ client }) => {
        const { id } = await client.create(script)
        await client.log(id)
        return (await client.run(id)).error
      })
    )
    assert.deepStrictEqual(one, other)
    assert.include(JSON.stringify(one), expected)
  })
})
