import type { RequestId, RunId } from "@corral/domain/identity/Ids"
import { eventPage } from "@corral/service/stream/LogSource"
import { assert, layer } from "@effect/vitest"
import { Arbitrary, Effect, Schema } from "effect"
import { EdgeEventLog } from "../../src/log/EdgeEventLog.ts"
import { edgeRunSource } from "../../src/log/EdgeLogSource.ts"
import { RunRecorder } from "../../src/run/kernel/RunRecorder.ts"
import { created, newRunId, runOf, messageInput } from "../Samples.ts"
import { memoryLogLayer } from "../Stored.ts"

const requestId = "req-1" as RequestId
const positive = (maximum: number) => Schema.Int.check(Schema.isBetween({ minimum: 1, maximum }))

const pageOf = (log: EdgeEventLog["Service"], runId: RunId, after: number, limit: number) =>
  eventPage(edgeRunSource(log, runId), { after, limit, lastSeq: log.lastSeq(runId), requestId })

/** A run with batches of these sizes. */
const writeRun = Effect.fnUntraced(function* (sizes: ReadonlyArray<number>, text = "a") {
  const log = yield* EdgeEventLog
  const runId = newRunId()
  const recorder = new RunRecorder(runOf(runId))
  recorder.apply(created)
  for (const size of sizes) {
    for (let i = 0; i < size; i++) recorder.apply(messageInput(text))
    const batch = recorder.take()
    if (batch !== undefined) yield* log.append(batch.events, batch.projections)
  }
  return runId
})

layer(memoryLogLayer)("eventPage", (it) => {
  it.effect.prop(
    "pages through a log without gaps or repetitions, for any batches, limit and start",
    [
      Arbitrary.array(Arbitrary.schema(positive(30)), { minLength: 1, maxLength: 8 }),
      positive(40),
      positive(300)
    ],
    ([sizes, limit, start]) =>
      Effect.gen(function* () {
        const log = yield* EdgeEventLog
        const runId = yield* writeRun(sizes)
        const last = log.lastSeq(runId)
        const seen: Array<number> = []
        let after = start % (last + 1)
        const first = after + 1
        for (;;) {
          const { items, nextCursor, requestId: id } = yield* pageOf(log, runId, after, limit)
          assert.isAtMost(items.length, limit)
          assert.strictEqual(id, requestId)
          seen.push(...items.map(({ seq }) => seq))
          if (nextCursor === null) break
          assert.strictEqual(items.length, limit, "only the last page is short")
          after = Number(nextCursor)
          assert.strictEqual(after, items.at(-1)?.seq)
        }
        assert.deepStrictEqual(
          seen,
          Array.from({ length: last - first + 1 }, (_, i) => first + i)
        )
      }),
    { arbitrary: { runs: 30 } }
  )

  it.effect("fills a page from large batches too", () =>
    Effect.gen(function* () {
      const log = yield* EdgeEventLog
      const runId = yield* writeRun([3, 3, 3], "x".repeat(50_000))
      const { items, nextCursor } = yield* pageOf(log, runId, 1, 8)
      assert.deepStrictEqual(
        items.map(({ seq }) => seq),
        [2, 3, 4, 5, 6, 7, 8, 9]
      )
      assert.strictEqual(nextCursor, "9")
    })
  )

  it.effect("is empty beyond the end, and for a run without events", () =>
    Effect.gen(function* () {
      const log = yield* EdgeEventLog
      const runId = yield* writeRun([2])
      for (const page of [yield* pageOf(log, runId, 99, 10), yield* pageOf(log, newRunId(), 0, 10)]) {
        assert.deepStrictEqual(page, { items: [], nextCursor: null, requestId })
      }
    })
  )
})
