/** Runs with the workspace's grant `confined`: who decided, what is still asked, and that the grant needs a kernel that confines the run. */
import { assert, describe, it } from "@effect/vitest"
import { type EdgeOptions, openEdgeProcess } from "@corral/testing/edge/EdgeProcess"
import { until } from "@corral/testing/time/Until"
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { canConfine } from "../confinement/CanConfine.ts"

/** Changes a name that it does not contain. */
const SCRIPT = 'a=package; echo x >> "$a.json"; echo y > made.txt; echo z > "$HOME/outside.txt"'

const open = async (env: Readonly<Record<string, string>>, grants: EdgeOptions["grants"] & {}) => {
  const edge = await openEdgeProcess({ env, grants })
  mkdirSync(join(edge.workspace, "scripts"))
  writeFileSync(join(edge.workspace, "scripts", "build.sh"), SCRIPT)
  writeFileSync(join(edge.workspace, "package.json"), "{}")
  return edge
}
type Opened = Awaited<ReturnType<typeof open>>

/** The events of a run that no user answers, up to its end or its first question. */
const unanswered = async ({ client }: Opened, script: string) => {
  const { id } = await client.create(script, "ask")
  const reader = await client.follow({ runId: id })
  const state = await until(async () => {
    const { state } = await client.run(id)
    return /^(waiting_approval|completed|failed)$/.test(state) ? state : undefined
  }, "a question or the end")
  if (state === "waiting_approval") await client.cancel(id)
  await reader.ended
  const { events } = reader
  const decidedBy = events
    .filter(({ type }) => type === "run.approval.resolved")
    .map(({ payload }) => payload["by"])
  return { decidedBy, events, state }
}

describe.skipIf(!canConfine)("the grant confined", () => {
  it("allows commands and ordinary edits that the kernel confines, and says so", async () => {
    const edge = await open({ CORRAL_EDGE_CONFINEMENT: "required" }, ["confined"])
    const { decidedBy, events, state } = await unanswered(
      edge,
      "/write src/a.ts hello\n/shell cat package.json && sh scripts/build.sh\n/say done"
    )
    assert.strictEqual(state, "completed")
    assert.deepStrictEqual(decidedBy, ["policy:confined", "policy:confined"])
    assert.strictEqual(readFileSync(join(edge.workspace, "made.txt"), "utf8"), "y\n")
    // The kernel kept the rest of the machine, and the change of a name is reported although the command named it to read it.
    assert.isFalse(existsSync(join(edge.folder, "outside.txt")))
    const changed = events.find(({ type }) => type === "run.protected.changed")
    assert.include(JSON.stringify(changed?.payload), "package.json")
  })

  it("asks about what it does not cover", async () => {
    const edge = await open({ CORRAL_EDGE_CONFINEMENT: "required" }, ["confined"])
    for (const line of ["/shell rm -rf scripts", "/write package.json x", "/shell git push"]) {
      const { decidedBy, state } = await unanswered(edge, line)
      assert.strictEqual(state, "waiting_approval", line)
      assert.notInclude(decidedBy, "policy:confined")
    }
  })

  it("is not used without the grant", async () => {
    const edge = await open({ CORRAL_EDGE_CONFINEMENT: "required" }, [])
    assert.strictEqual((await unanswered(edge, "/shell ls\n/say done")).state, "waiting_approval")
  })
})

describe("the grant confined without a confinement", () => {
  it("is not used in a run that fell back", async () => {
    const edge = await open({ CORRAL_EDGE_CONFINEMENT: "preferred", PATH: "/nowhere" }, ["confined"])
    assert.strictEqual((await unanswered(edge, "/shell ls\n/say done")).state, "waiting_approval")
  })

  it("is not used where confinement is off", async () => {
    const edge = await open({}, ["confined"])
    assert.strictEqual((await unanswered(edge, "/shell ls\n/say done")).state, "waiting_approval")
  })
})
