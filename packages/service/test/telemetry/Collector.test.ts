/** A service's layer with a collector that is well, slow, broken or not there: real requests to a server of this process. */
import { assert, describe, it, onTestFinished } from "@effect/vitest"
import { Context, Effect, Exit, Layer, Logger, Redacted, Scope } from "effect"
import { FakeCollector, type CollectorBehavior } from "@corral/testing/http/FakeCollector"
import { until, UncontendedTime } from "@corral/testing/time/Until"
import { CurrentMetrics } from "../../src/telemetry/Metrics.ts"
import * as Telemetry from "../../src/telemetry/Telemetry.ts"
import type { TelemetryConfig } from "../../src/telemetry/TelemetrySettings.ts"
import { CurrentTraces } from "../../src/telemetry/Traces.ts"

const open = async () => {
  const collector = await FakeCollector.open()
  onTestFinished(() => collector.close())
  return collector
}

const started = async (config: TelemetryConfig) => {
  const scope = Scope.makeUnsafe()
  const logged: Array<string> = []
  const logger = Logger.make(({ message }) => void logged.push(JSON.stringify(message)))
  const services = await Effect.runPromise(
    Layer.buildWithScope(Telemetry.telemetryLayer("edge", config), scope).pipe(
      Effect.provide(Logger.layer([logger]))
    )
  )
  return {
    logged,
    traces: Context.get(services, CurrentTraces),
    metrics: Context.get(services, CurrentMetrics),
    /** Milliseconds of uncontended time that its end takes. */
    end: async () => {
      const time = new UncontendedTime()
      await Effect.runPromise(Scope.close(scope, Exit.void))
      return time.millis
    }
  }
}

const above = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

describe("a collector", () => {
  it("is sent spans and metrics at the end at the latest, with its key", async () => {
    const collector = await open()
    const { end, traces } = await started({
      collector: collector.url,
      headers: { "x-key": Redacted.make("s3cret") }
    })
    const outer = traces.start("outer", "server", above, { "http.route": "/x" })
    const inner = traces.start("inner", "internal", outer?.traceparent, {})
    inner?.end({ outcome: "failed" }, true)
    outer?.end({}, false)
    outer?.end({ again: "no" }, true)
    await end()
    const [first, second] = collector.spans
    assert.lengthOf(collector.spans, 2)
    assert.strictEqual(collector.headers["x-key"], "s3cret")
    assert.deepInclude(second, {
      name: "outer",
      traceId: above.slice(3, 35),
      parentSpanId: above.slice(36, 52)
    })
    assert.deepInclude(first, { name: "inner", traceId: above.slice(3, 35), parentSpanId: second?.spanId })
    assert.deepStrictEqual([first?.status.code, second?.status.code], [2, 1])
    assert.deepStrictEqual(second?.attributes, { "http.route": "/x" })
    assert.include([...collector.metrics], "corral_edge_process_heap_bytes")
    // No place in the program, and no word of an error.
    assert.notMatch(collector.text, /node_modules|[jt]s:\d|\/packages\/|s3cret/)
  })

  it("is not sent what the caller does not sample", async () => {
    const collector = await open()
    const { end, traces } = await started({ collector: collector.url })
    const span = traces.start("quiet", "server", `${above.slice(0, -2)}00`, {})
    assert.match(span?.traceparent ?? "", /^00-0af7651916cd43dd8448eb211c80319c-[0-9a-f]{16}-00$/)
    span?.end({}, false)
    await end()
    assert.deepStrictEqual(collector.spans, [])
  })

  it.each<CollectorBehavior | "down">(["down", "refuse", "hang", "stall"])(
    "that would %s delays no request, holds little memory, and does not delay the end",
    async (behavior) => {
      const collector = await open()
      const { url } = collector
      if (behavior === "down") await collector.close()
      else collector.behavior = behavior
      const { end, logged, traces } = await started({
        collector: url,
        headers: { "x-key": Redacted.make("s3cret") }
      })
      const time = new UncontendedTime()
      for (let batch = 0; batch < 50; batch++) {
        for (let each = 0; each < 1_000; each++)
          traces.start("span", "internal", undefined, {})?.end({}, false)
        // What is sent is sent between these.
        await new Promise((resolve) => setImmediate(resolve))
      }
      assert.isBelow(time.millis, 5_000)
      // Of 50 batches: the first, and one more where that was refused at once.
      if (behavior !== "down")
        await until(async () => collector.requests > 0 || undefined, "a request", 5_000)
      assert.isAtMost(collector.requests, 2)
      assert.isBelow(await end(), 3_500)
      if (behavior === "refuse" || behavior === "down") {
        assert.include(logged[0], "failed to send telemetry")
        assert.isAtMost(logged.length, 2)
      }
      assert.notInclude(logged.join(), "s3cret")
    }
  )

  it("sends nothing without a collector", async () => {
    const { end, metrics, traces } = await started({})
    assert.isUndefined(traces.start("span", "server", above, {}))
    assert.strictEqual(await Effect.runPromise(metrics.text), "")
    assert.isBelow(await end(), 500)
  })
})
