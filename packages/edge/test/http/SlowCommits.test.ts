import type { EdgeReadiness } from "@corral/domain/http/Health"
import { EdgeInProcess } from "@corral/testing/edge/EdgeInProcess"
import { assert, describe, it, onTestFinished } from "@effect/vitest"
import { Layer } from "effect"
import { FirstWriter } from "../../src/store/Store.ts"
import { startWriterThread } from "../../src/store/WriterThread.ts"

/** An Edge whose writer thread is known, so that its commit times are. */
class EdgeWithWriter extends EdgeInProcess {
  readonly writer = startWriterThread()
  protected override get parts(): Layer.Layer<never> {
    return Layer.succeed(FirstWriter, this.writer)
  }
}

describe("health with slow commits", () => {
  it("is degraded with the problem, and the Edge stays ready", async () => {
    const edge = new EdgeWithWriter()
    onTestFinished(() => edge.remove())
    await edge.start()
    const health = async () => {
      const { body, status } = await edge.client.ask("GET", "/v1/health")
      assert.strictEqual(status, 200)
      return body as EdgeReadiness
    }
    assert.strictEqual((await health()).status, "ok")
    for (const tookMs of [60, 70, 80]) edge.writer.commitTimes.note(tookMs)
    const { problems = [], status, store } = await health()
    assert.deepStrictEqual(
      [status, problems.map(({ part }) => part), store?.status],
      ["degraded", ["disk"], "ok"]
    )
    assert.match(problems[0]?.message ?? "", /^Commits are slow: 3 of \d+ in the last minute/)
  })
})
