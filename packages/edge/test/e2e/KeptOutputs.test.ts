/** What a runtime makes, from its stdout to a download: named in the log only once it is there. */
import { assert, describe, it } from "@effect/vitest"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { openEdgeProcess } from "@corral/testing/edge/EdgeProcess"

describe("What a run makes", () => {
  it("can be fetched as soon as the log names it, and after a crash", async () => {
    const edge = await openEdgeProcess()
    const { client } = edge
    const long = "grüße\n".repeat(60_000)
    writeFileSync(join(edge.workspace, "long.txt"), long)
    const run = await client.create(
      "/read long.txt\n/artifact report.md text/markdown # Report\n/attach long.txt image/png\n/say done"
    )
    const events = await client.log(run.id)
    const ready = events.filter(({ type }) => type === "run.artifact.ready")
    assert.deepStrictEqual(
      ready.map(({ payload }) => [payload["name"], payload["mediaType"], payload["size"]]),
      [
        ["read output.txt", "text/plain; charset=utf-8", 480_000],
        ["report.md", "text/markdown", 8],
        ["long.txt", "image/png", 480_000]
      ]
    )
    const result = events.find(({ type }) => type === "run.tool.result")
    assert.deepInclude(result?.payload, {
      artifactId: ready[0]?.payload["artifactId"],
      truncated: true,
      totalBytes: 480_000
    })
    assert.strictEqual(ready[0]?.payload["sha256"], ready[2]?.payload["sha256"])
    await edge.kill()
    await edge.start()
    for (const [at, content] of [long, "# Report", long].entries()) {
      const target = `/v1/artifacts/${String(ready[at]?.payload["artifactId"])}/content`
      const { status, bytes } = await edge.client.bytes("GET", target)
      assert.deepStrictEqual([status, bytes.toString()], [200, content])
    }
  })
})
