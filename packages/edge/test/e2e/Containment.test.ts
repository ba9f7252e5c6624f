/** What leaves its session, its parent and its environment behind is still its run's, where the system has control groups. */
import { assert, describe, it } from "@effect/vitest"
import { existsSync, readdirSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import type { EdgeClient } from "@corral/testing/edge/EdgeClient"
import { openEdgeProcess } from "@corral/testing/edge/EdgeProcess"

const env = { CORRAL_EDGE_CANCEL_GRACE_MS: "300" }

const kindOf = async (client: EdgeClient): Promise<unknown> => {
  const { body } = await client.ask("GET", "/v1/health")
  return (body as { readonly containment?: { readonly kind?: unknown } }).containment?.kind
}

const vanished = async (client: EdgeClient) => {
  const run = await client.create("/vanish\n/daemon\n/say ready\n/hang")
  const reader = await client.follow({ runId: run.id })
  await reader.message("ready")
  return { run, reader }
}

describe("Containment", () => {
  it("ends what vanished when its run is cancelled", async (context) => {
    const edge = await openEdgeProcess({ env })
    if ((await kindOf(edge.client)) !== "cgroup") return context.skip("no control groups here")
    const { reader, run } = await vanished(edge.client)
    assert.isAtLeast(edge.survivors().length, 3)
    await edge.client.cancel(run.id)
    await reader.ended
    assert.deepStrictEqual(edge.survivors(), [])
  })

  it("ends it at the next start, after the Edge was killed", async (context) => {
    const edge = await openEdgeProcess({ env })
    if ((await kindOf(edge.client)) !== "cgroup") return context.skip("no control groups here")
    await vanished(edge.client)
    await edge.kill()
    assert.isAtLeast(edge.survivors().length, 1, "it outlives the Edge")
    await edge.start()
    assert.deepStrictEqual(edge.survivors(), [])
  })

  it("ends a paused run at the next start, after the Edge was killed", async (context) => {
    const edge = await openEdgeProcess({ env })
    if ((await kindOf(edge.client)) !== "cgroup") return context.skip("no control groups here")
    const { run } = await vanished(edge.client)
    const paused = await edge.client.ask("POST", `/v1/runs/${run.id}/pause`)
    assert.strictEqual(paused.status, 200, paused.text)
    await edge.kill()
    assert.isAtLeast(edge.survivors().length, 1, "it outlives the Edge")
    await edge.start()
    assert.deepStrictEqual(edge.survivors(), [])
    const log = await edge.client.log(run.id)
    const changes = log.map(({ type }) => type).filter((type) => /^run\.(paused|resumed|failed)$/.test(type))
    assert.deepStrictEqual(changes, ["run.paused", "run.resumed", "run.failed"])
    assert.notProperty(await edge.client.run(run.id), "paused")
  })

  for (const [damage, change] of [
    ["is missing", (file: string) => rmSync(file)],
    ["is damaged", (file: string) => writeFileSync(file, '{"hierarchy"')],
    ["is of other mounts", (file: string) => writeFileSync(file, '{"hierarchy":"[]","folders":[]}')]
  ] as const) {
    it(`ends it at the next start if the record of its groups ${damage}`, async (context) => {
      const edge = await openEdgeProcess({ env })
      if ((await kindOf(edge.client)) !== "cgroup") return context.skip("no control groups here")
      await vanished(edge.client)
      await edge.kill()
      change(join(edge.home, "control-groups.json"))
      assert.isAtLeast(edge.survivors().length, 1, "it outlives the Edge")
      await edge.start()
      assert.deepStrictEqual(edge.survivors(), [])
    })
  }

  it("contains by marks if the setting says so", async () => {
    const edge = await openEdgeProcess({ env: { ...env, CORRAL_EDGE_CONTAINMENT: "environment_mark" } })
    assert.strictEqual(await kindOf(edge.client), "environment_mark")
    const run = await edge.client.create("/daemon\n/children 2\n/say ready\n/hang")
    const reader = await edge.client.follow({ runId: run.id })
    await reader.message("ready")
    await edge.client.cancel(run.id)
    await reader.ended
    assert.deepStrictEqual(edge.survivors(), [])
  })

  it("gives each run its own temporary folder and removes it, also after a kill", async () => {
    const edge = await openEdgeProcess({ env })
    const script = 'echo "$TMPDIR" > where; stat -c %a "$TMPDIR" >> where; cat where'
    const run = await edge.client
      .create(`/shell ${script}\n/say ready\n/hang`, "full_access")
      .catch(() => edge.client.create(`/shell ${script}\n/say ready\n/hang`, "auto_edit"))
    const reader = await edge.client.follow({ runId: run.id })
    if (run.mode !== "full_access") {
      const requested = await reader.event("run.approval.requested")
      await edge.client.decide(run.id, String(requested.payload["approvalId"]), "allow")
    }
    const received = await reader.event("run.tool.result")
    const [folder = "", mode] = String(received.payload["output"]).split("\n")
    assert.include(folder, run.id)
    assert.strictEqual(mode, "700")
    await reader.message("ready")
    assert.isTrue(existsSync(folder))
    await edge.kill()
    assert.isTrue(existsSync(folder))
    await edge.start()
    const after = await edge.client.create("/say done")
    await edge.client.log(after.id)
    assert.isFalse(existsSync(folder))
    assert.deepStrictEqual(readdirSync(join(folder, "..")), [])
  })
})
