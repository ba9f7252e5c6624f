/** Confined runs that outlive their Edge: the next one watches the same names, and serves the same network. */
import { EdgeProcess } from "@corral/testing/edge/EdgeProcess"
import { until } from "@corral/testing/time/Until"
import { assert, describe, it, onTestFinished } from "@effect/vitest"
import { existsSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { canConfine } from "../confinement/CanConfine.ts"
import { assertWhole } from "../harness/LogInvariants.ts"

const open = async (): Promise<EdgeProcess> => {
  const edge = new EdgeProcess({
    env: {
      CORRAL_EDGE_CONFINEMENT: "required",
      CORRAL_EDGE_ORPHAN_MS: "60000",
      CORRAL_EDGE_CANCEL_GRACE_MS: "500"
    }
  })
  onTestFinished(() => edge.remove())
  writeFileSync(join(edge.workspace, "package.json"), "{}")
  await edge.start()
  return edge
}

const restart = async (edge: EdgeProcess): Promise<void> => {
  await edge.kill()
  await edge.start()
}

describe.skipIf(!canConfine)("a confined run whose Edge was killed", () => {
  it("is watched: a protected name that changed meanwhile is reported", async () => {
    const edge = await open()
    const late = `sh -c 'echo > begun; while [ ! -e go ]; do sleep 0.05; done; a=package; echo x >> $a.json; echo > made'`
    const { id } = await edge.client.create(`/shell ${late}\n/say done`)
    const before = await edge.client.follow({ runId: id })
    const { payload } = await before.event("run.approval.requested")
    await edge.client.decide(id, String(payload["approvalId"]), "allow")
    const path = (name: string) => join(edge.workspace, name)
    await until(async () => existsSync(path("begun")) || undefined, "the command")
    await edge.kill()
    writeFileSync(path("go"), "")
    await until(async () => existsSync(path("made")) || undefined, "the change")
    await edge.start()
    const after = await edge.client.follow({ runId: id })
    assert.strictEqual((await after.ended).code, 1000)
    assertWhole(after.events)
    const run = await edge.client.run(id)
    assert.strictEqual(run.state, "completed")
    assert.deepStrictEqual(run.protectedChanges?.files, [{ path: "package.json", change: "modified" }])
    assert.isUndefined(run.protectedChanges?.incomplete)
    assert.deepStrictEqual(edge.survivors(), [])
  })

  it("has its network again, and the approval that was open", async () => {
    const edge = await open()
    const script = [
      'const { request } = await import("node:http")',
      'const to = { host: "127.0.0.1", port: 17843, path: "http://asked.invalid/" }',
      'const go = () => new Promise((done) => request(to, (a) => done("answer " + a.resume().statusCode)).on("error", (e) => done(e.message)).end())',
      "console.log(await go())",
      // A dying Edge accepts connections for a moment, and cuts them.
      "await new Promise((done) => setTimeout(done, 500))",
      "console.log(await go())"
    ].join("; ")
    const { id } = await edge.client.create(
      `/shell "${process.execPath}" --input-type=module -e '${script}'\n/say done`
    )
    const before = await edge.client.follow({ runId: id })
    const shell = await before.event("run.approval.requested")
    await edge.client.decide(id, String(shell.payload["approvalId"]), "allow")
    const isNetwork = ({ payload, type }: (typeof before.events)[number]) =>
      type === "run.approval.requested" && (payload["request"] as { action: string }).action === "network"
    const request = await before.event(isNetwork)
    await restart(edge)
    const approvalId = String(request.payload["approvalId"])
    assert.strictEqual((await edge.client.approval(approvalId)).state, "pending")
    await edge.client.decide(id, approvalId, "deny")
    const after = await edge.client.follow({ runId: id })
    assert.strictEqual((await after.ended).code, 1000)
    assertWhole(after.events)
    assert.strictEqual(after.events.filter(isNetwork).length, 1)
    const result = after.events.find(({ type }) => type === "run.tool.result")
    assert.match(String(result?.payload["output"]), /^socket hang up\s+answer 403/)
    assert.strictEqual((await edge.client.run(id)).state, "completed")
    assert.deepStrictEqual(edge.survivors(), [])
  })
})
