/** Artifacts of confined runs: the folder is in their view, and what links name is not. */
import type { Artifact } from "@corral/domain/run/Artifact"
import { EdgeProcess } from "@corral/testing/edge/EdgeProcess"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { canConfine } from "../confinement/CanConfine.ts"

describe.skipIf(!canConfine)("artifacts of a confined run", () => {
  const edge = new EdgeProcess({
    env: { CORRAL_EDGE_CONFINEMENT: "required", CORRAL_EDGE_ORPHAN_MS: "60000" }
  })
  beforeAll(() => edge.start())
  afterAll(() => edge.remove())

  it("are published from the run's folder, also by the next Edge, and nothing from outside of its view", async () => {
    const secret = join(edge.folder, "secret.txt")
    writeFileSync(secret, "secret")
    const command = `cd "$CORRAL_ARTIFACTS"; echo first > first.txt; ln -s ${secret} outside.txt`
    const script = `/shell ${command}\n/wait\n/shell cd "$CORRAL_ARTIFACTS"; rm outside.txt first.txt; echo second > second.txt`
    const { id } = await edge.client.create(script, "ask")
    const allowNext = async (count: number) => {
      const reader = await edge.client.follow({ runId: id })
      const requests = () => reader.events.filter(({ type }) => type === "run.approval.requested")
      await reader.event(() => requests().length === count)
      await edge.client.decide(id, String(requests().at(-1)?.payload["approvalId"]), "allow")
      return reader
    }
    await (await allowNext(1)).event("run.artifact.ready")
    await edge.kill()
    await edge.start()
    await edge.client.ask("POST", `/v1/runs/${id}/input`, { body: { text: "continue" } })
    const reader = await allowNext(2)
    await reader.ended
    assert.strictEqual(reader.events.at(-1)?.type, "run.completed")
    const { body } = await edge.client.ask("GET", `/v1/runs/${id}/artifacts`)
    const { items } = body as { readonly items: ReadonlyArray<Artifact> }
    assert.deepStrictEqual(
      items.map(({ name }) => name),
      ["first.txt", "second.txt"]
    )
    const notices = reader.events.filter(({ type }) => type === "run.notice")
    assert.include(JSON.stringify(notices), "outside.txt")
  })
})
