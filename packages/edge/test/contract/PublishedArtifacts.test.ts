/** Files of a live run's folder that a tool publishes as artifacts. */
import { assert, describe, it } from "@effect/vitest"
import { type Answer, codeOf } from "@corral/testing/edge/EdgeClient"
import { type EdgeProcess, openEdgeProcess } from "@corral/testing/edge/EdgeProcess"
import { mkdirSync, symlinkSync, truncateSync, writeFileSync } from "node:fs"
import { join } from "node:path"

/** A run that waits for an input, and the request that publishes a file of its folder. */
const openRun = async () => {
  const edge = await openEdgeProcess()
  const { id } = await edge.client.create("/wait")
  await (await edge.client.follow({ runId: id })).event("run.started")
  const publish = (body: unknown, key?: string): Promise<Answer> =>
    edge.client.ask("POST", `/v1/runs/${id}/artifacts`, {
      body,
      ...(key === undefined ? {} : { headers: { "idempotency-key": key } })
    })
  return { edge, id, publish, file: (name: string) => join(edge.workspace, name) }
}

const listed = async (edge: EdgeProcess, id: string): Promise<ReadonlyArray<unknown>> =>
  (
    (await edge.client.ask("GET", `/v1/runs/${id}/artifacts?limit=200`)).body as {
      readonly items: ReadonlyArray<unknown>
    }
  ).items

describe("Published artifacts", () => {
  it("are stored as the file is then, announced in the log, and the same for the same key", async () => {
    const { edge, file, id, publish } = await openRun()
    writeFileSync(file("report.html"), "<p>first</p>")
    const first = await publish({ path: "report.html" }, "one")
    assert.strictEqual(first.status, 201)
    assert.deepInclude(first.body, { runId: id, name: "report.html", mediaType: "text/html", size: 12 })
    const artifactId = String((first.body as { readonly id: string }).id)
    assert.strictEqual(first.headers.get("location"), `/v1/artifacts/${artifactId}`)
    writeFileSync(file("report.html"), "<p>second</p>")
    const repeated = await publish({ path: "report.html" }, "one")
    assert.deepStrictEqual(repeated.body, first.body)
    assert.strictEqual(repeated.headers.get("idempotency-replayed"), "true")
    assert.strictEqual(codeOf(await publish({ path: "other.html" }, "one")), "idempotency_conflict")
    const named = { path: "report.html", name: "Report", mediaType: "text/plain" }
    const second = await publish(named, "two")
    assert.deepInclude(second.body, { name: "Report", mediaType: "text/plain", size: 13 })
    const { bytes } = await edge.client.bytes("GET", `/v1/artifacts/${artifactId}/content`)
    assert.strictEqual(bytes.toString(), "<p>first</p>")

    // A crash after the answer loses neither the artifact nor the key.
    await edge.kill()
    await edge.start()
    assert.deepStrictEqual(await listed(edge, id), [first.body, second.body])
    assert.deepStrictEqual((await publish(named, "two")).body, second.body)
    const ready = (await edge.client.log(id)).filter(({ type }) => type === "run.artifact.ready")
    assert.deepStrictEqual(
      ready.map(({ payload }) => payload["name"]),
      ["report.html", "Report"]
    )
  })

  it("are nothing but files of the folder without credentials", async () => {
    const { edge, file, id, publish } = await openRun()
    const outside = join(edge.folder, "outside.txt")
    writeFileSync(outside, "secret")
    symlinkSync(outside, file("link.txt"))
    mkdirSync(file("folder"))
    writeFileSync(file(".env"), "TOKEN=secret")
    writeFileSync(file("large.bin"), "")
    truncateSync(file("large.bin"), 52_428_801)
    const refusals: ReadonlyArray<readonly [body: unknown, status: number, code: string]> = [
      [{ path: "../outside.txt" }, 403, "workspace_outside_allowlist"],
      [{ path: outside }, 403, "workspace_outside_allowlist"],
      [{ path: "link.txt" }, 403, "workspace_outside_allowlist"],
      [{ path: ".env" }, 403, "permission_denied"],
      [{ path: "folder" }, 404, "not_found"],
      [{ path: "none.txt" }, 404, "not_found"],
      [{ path: "large.bin" }, 413, "payload_too_large"],
      [{ path: "" }, 422, "schema_validation_failed"],
      [{}, 422, "schema_validation_failed"],
      [{ path: "x", name: "" }, 422, "schema_validation_failed"]
    ]
    for (const [body, status, code] of refusals) {
      const answer = await publish(body)
      assert.deepStrictEqual([answer.status, codeOf(answer)], [status, code], JSON.stringify(body))
    }
    const unsigned = await edge.client.ask("POST", `/v1/runs/${id}/artifacts`, {
      body: { path: "x" },
      token: null
    })
    assert.strictEqual(unsigned.status, 401)
    assert.deepStrictEqual(await listed(edge, id), [])
  })

  it("are of live runs only, at most 100 of each", async () => {
    const { edge, file, id, publish } = await openRun()
    writeFileSync(file("a.txt"), "a")
    const answers = await Promise.all(Array.from({ length: 104 }, () => publish({ path: "a.txt" })))
    assert.deepStrictEqual(
      [201, 409].map((status) => answers.filter((answer) => answer.status === status).length),
      [100, 4]
    )
    assert.strictEqual((await listed(edge, id)).length, 100)
    await edge.client.ask("POST", `/v1/runs/${id}/cancel`)
    const ended = await publish({ path: "a.txt" })
    assert.deepStrictEqual([ended.status, codeOf(ended)], [409, "conflict"])
    const none = await edge.client.ask("POST", "/v1/runs/run_00000000000000000000000000/artifacts", {
      body: { path: "a.txt" }
    })
    assert.deepStrictEqual([none.status, codeOf(none)], [404, "not_found"])
  })
})
