/** While a large log is dropped, no other commit waits long for it. */
import { draft } from "@corral/domain/run/RunEvent"
import { assert, it } from "@effect/vitest"
import { Effect, Fiber, Layer } from "effect"
import { join } from "node:path"
import { EdgeEventLog } from "../../src/log/EdgeEventLog.ts"
import { makeEventEncoder } from "../../src/log/StoredEvents.ts"
import { insertRun } from "../../src/log/Runs.ts"
import { BootClock, Retention } from "../../src/retention/Retention.ts"
import { Store } from "../../src/store/Store.ts"
import { temporaryFolder } from "../Folder.ts"
import { at, configLayer, newRunId, runOf } from "../Samples.ts"

let hours = 0
/** An hour passes from one reading to the next. */
const hourly = () => ({ sinceBoot: 3_600_000 * hours++, boot: "boot" })

const edge = Layer.unwrap(
  Effect.map(temporaryFolder, (folder) =>
    Layer.mergeAll(
      EdgeEventLog.layer,
      Layer.provide(Retention.layer, [
        configLayer(folder, { retention: { days: 30, maxMiB: 0 } }),
        Layer.succeed(BootClock, hourly)
      ])
    ).pipe(Layer.provideMerge(Store.layer(join(folder, "edge.db"))))
  )
)

const lineOf = (runId: ReturnType<typeof newRunId>, size: number) => {
  const encode = makeEventEncoder({ runId })
  const text = "x".repeat(size)
  return (seq: number) =>
    encode(seq, at, draft("run.message.delta", { messageId: "m", channel: "text", text }))
}

const percentile = (values: ReadonlyArray<number>, share: number): number =>
  values.toSorted((a, b) => a - b)[Math.floor((values.length - 1) * share)] ?? Number.NaN

it.live("drops 400 MB between the commits of others", () =>
  Effect.gen(function* () {
    const log = yield* EdgeEventLog
    const store = yield* Store
    const retention = yield* Retention
    const old = newRunId()
    yield* store.commit([insertRun(runOf(old, { state: "completed", endedAt: at, lastSeq: 4_000 }))])
    const oldLine = lineOf(old, 100_000)
    for (let seq = 1; seq <= 4_000; seq++) {
      yield* log.append({ runId: old, firstSeq: seq, count: 1, lines: oldLine(seq), terminal: false }, [])
    }
    const live = newRunId()
    const line = lineOf(live, 300)
    let seq = 0
    /** Commits of about 300 bytes, two milliseconds apart, until told; gives how long each took. */
    const writeUntil = Effect.fnUntraced(function* (over: () => boolean) {
      const took: Array<number> = []
      while (!over()) {
        const startedAt = performance.now()
        seq++
        yield* log.append({ runId: live, firstSeq: seq, count: 1, lines: line(seq), terminal: false }, [])
        took.push(performance.now() - startedAt)
        yield* Effect.sleep("2 millis")
      }
      return took
    })
    const alone = yield* writeUntil(() => seq >= 1_000)
    let over = false
    const writing = yield* Effect.forkChild(writeUntil(() => over))
    const startedAt = performance.now()
    const dropped = yield* retention.sweep
    const seconds = (performance.now() - startedAt) / 1_000
    over = true
    const beside = yield* Fiber.join(writing)
    assert.deepStrictEqual(dropped, [old])
    const round = (ms: number) => Number(ms.toFixed(2))
    const figures = {
      what: "commit latency while 400 MB of log are dropped, ms",
      alone: { n: alone.length, p50: round(percentile(alone, 0.5)), p99: round(percentile(alone, 0.99)) },
      beside: { n: beside.length, p50: round(percentile(beside, 0.5)), p99: round(percentile(beside, 0.99)) },
      most: round(Math.max(...beside)),
      seconds: round(seconds)
    }
    console.log(JSON.stringify(figures))
    assert.isAbove(beside.length, 100)
    assert.isBelow(
      percentile(beside, 0.99),
      10 + 5 * percentile(alone, 0.99),
      "a generous bound: the figure is what is printed"
    )
  }).pipe(Effect.provide(edge), Effect.scoped)
)
