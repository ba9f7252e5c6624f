/** Raw output of a run whose Edge is killed or stopped while it prints: each line once, in order, and no secret that the end divided. */
import { assert, describe, it, onTestFinished } from "@effect/vitest"
import { EdgeProcess } from "@corral/testing/edge/EdgeProcess"

const RECORDING = {
  CORRAL_EDGE_RAW_OUTPUT: "keep",
  CORRAL_EDGE_ORPHAN_MS: "60000",
  CORRAL_EDGE_CANCEL_GRACE_MS: "500"
}

describe.each(["SIGKILL", "SIGTERM"] as const)("the raw output of a run whose Edge ends by %s", (how) => {
  it("has each line once", async () => {
    const edge = new EdgeProcess({ env: RECORDING })
    onTestFinished(() => edge.remove())
    await edge.start()
    const { id } = await edge.client.create("/stream 2000 1000 40\n/say the end")
    for (const count of [200, 900]) {
      await (await edge.client.follow({ runId: id })).count(count)
      if (how === "SIGKILL") await edge.kill()
      else await edge.stop()
      await edge.start()
    }
    await edge.client.log(id)
    const { bytes } = await edge.client.bytes("GET", `/v1/runs/${id}/raw`)
    const records = bytes
      .toString()
      .split("\n")
      .slice(0, -1)
      .map((line) => JSON.parse(line))
    const texts = records.flatMap(({ stream, text }) => (stream === "stdout" ? [String(text)] : []))
    assert.isAbove(texts.length, 2_000)
    const ends = records.flatMap(({ end }) => (end === undefined ? [] : [Number(end)]))
    assert.deepStrictEqual(
      ends,
      [...new Set(ends)].toSorted((a, b) => a - b)
    )
    // The positions count every byte, so that no line is missing.
    const length = texts.reduce((sum, text) => sum + Buffer.byteLength(text) + 1, 0)
    assert.strictEqual(ends.at(-1), length)
    assert.lengthOf(
      records.filter(({ exit }) => exit !== undefined),
      1
    )
  })
})
