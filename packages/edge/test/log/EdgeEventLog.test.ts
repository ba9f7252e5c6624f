import type { RunId } from "@corral/domain/identity/Ids"
import { draft, type EventDraft } from "@corral/domain/run/RunEvent"
import type { ReplayGap } from "@corral/service/stream/LogSource"
import { assert, describe, it, layer } from "@effect/vitest"
import { Arbitrary, Deferred, Effect, Fiber, Layer, Schema, Stream } from "effect"
import { EdgeEventLog } from "../../src/log/EdgeEventLog.ts"
import { makeEventEncoder, type NewEvents, type StoredBatch } from "../../src/log/StoredEvents.ts"
import { insertRun } from "../../src/log/Runs.ts"
import { Store } from "../../src/store/Store.ts"
import type { StoreDamaged } from "../../src/store/StoreDamage.ts"
import { runLines } from "../../src/log/EdgeLogSource.ts"
import { at, newRunId, runIdOf, runOf } from "../Samples.ts"
import { logLayer, memoryLogLayer, stored } from "../Stored.ts"

const delta = (text: string): EventDraft =>
  draft("run.message.delta", { messageId: "m", channel: "text", text })

/** Consecutive batches of a run, of those sizes; the last one ends it where `ends`. */
const batchesOf = (runId: RunId, sizes: ReadonlyArray<number>, ends = false): ReadonlyArray<NewEvents> => {
  const encode = makeEventEncoder({ runId })
  let seq = 0
  return sizes.map((size, i) => {
    const terminal = ends && i === sizes.length - 1
    const firstSeq = seq + 1
    const lines = Array.from({ length: size }, (_, n) =>
      encode(++seq, at, terminal && n === size - 1 ? draft("run.completed", {}) : delta(`${runId} ${seq}`))
    )
    return { runId, firstSeq, count: lines.length, lines: lines.join("\n"), terminal }
  })
}

const appendAll = (log: EdgeEventLog["Service"], batches: ReadonlyArray<NewEvents>) =>
  Effect.forEach(batches, (batch) => log.append(batch, []), { discard: true })

const linesOf = (batches: ReadonlyArray<StoredBatch>) => batches.flatMap(({ lines }) => lines.split("\n"))
const seqOf = (line: string): number => JSON.parse(line).seq
const seqsOf = (batches: ReadonlyArray<StoredBatch>) => linesOf(batches).map(seqOf)
const upTo = (last: number, first = 1) =>
  Array.from({ length: Math.max(0, last - first + 1) }, (_, i) => first + i)
const total = (sizes: ReadonlyArray<number>) => sizes.reduce((sum, size) => sum + size, 0)

const size = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 20 }))
const Sizes = Arbitrary.array(Arbitrary.schema(size), { minLength: 1, maxLength: 12 })
const Place = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1_000 }))

for (const [where, log] of [
  ["on disk", logLayer],
  ["in memory", memoryLogLayer]
] as const)
  layer(log, { excludeTestServices: true })(`EventLog ${where}`, (it) => {
    it.effect("reads back the very text, after any seq, also in the middle of a batch", () =>
      Effect.gen(function* () {
        const log = yield* EdgeEventLog
        const runId = newRunId()
        const batches = batchesOf(runId, [3, 1, 4])
        yield* appendAll(log, batches)
        const written = batches.flatMap(({ lines }) => lines.split("\n"))
        for (let after = 0; after <= 8; after++) {
          const read = log.read(runId, after, 1_000_000)
          assert.deepStrictEqual(linesOf(read), written.slice(after))
          let next = after + 1
          for (const { firstSeq, lastSeq, lines, runId: of, terminal } of read) {
            assert.deepStrictEqual({ firstSeq, of, terminal }, { firstSeq: next, of: runId, terminal: false })
            assert.strictEqual(lines.split("\n").length, lastSeq - firstSeq + 1)
            next = lastSeq + 1
          }
        }
        assert.deepStrictEqual(log.read(runId, 9, 1_000_000), [])
        assert.strictEqual(log.lastSeq(runId), 8)
      })
    )

    it.effect("knows nothing of a run that was never written", () =>
      Effect.gen(function* () {
        const log = yield* EdgeEventLog
        assert.deepStrictEqual(log.read(newRunId(), 0, 1_000), [])
        assert.strictEqual(log.lastSeq(newRunId()), 0)
      })
    )

    it.effect("submits within the call if it can, and then once, for readers and followers", () =>
      Effect.gen(function* () {
        const log = yield* EdgeEventLog
        const runId = newRunId()
        const received: Array<number> = []
        log.follow(runId, { receive: ({ lastSeq }) => received.push(lastSeq) })
        for (const batch of batchesOf(runId, [2, 1, 3])) {
          const before = received.length
          let isDone = false
          yield* Effect.callback<void>((resume) => {
            log.submit(batch, [], (error) => {
              isDone = error === undefined
              resume(Effect.void)
            })
            assert.strictEqual(received.length, before + (isDone ? 1 : 0))
          })
          assert.strictEqual(received.length, before + 1)
        }
        assert.deepStrictEqual(received, [2, 3, 6])
        assert.deepStrictEqual(seqsOf(log.read(runId, 0, 1_000_000)), upTo(6))
      })
    )

    it.effect("reads the same for each of several followers, wherever the others are", () =>
      Effect.gen(function* () {
        const log = yield* EdgeEventLog
        const runId = newRunId()
        const batches = batchesOf(runId, [3, 1, 4, 2])
        const written = batches.flatMap(({ lines }) => lines.split("\n"))
        yield* appendAll(log, batches.slice(0, 3))
        const unfollow = [1, 2].map(() => log.follow(runId, { receive: () => undefined }))
        for (const after of [4, 2, 0, 7, 1, 8, 3]) {
          for (const budget of [1, 300, 1_000_000]) {
            const read = linesOf(log.read(runId, after, budget))
            assert.deepStrictEqual(read, written.slice(after, after + read.length))
            assert.strictEqual(read.length > 0, after < 8)
          }
        }
        yield* appendAll(log, batches.slice(3))
        assert.deepStrictEqual(seqsOf(log.read(runId, 8, 1_000_000)), [9, 10])
        for (const release of unfollow) release()
        assert.deepStrictEqual(linesOf(log.read(runId, 0, 1_000_000)), written)
      })
    )

    it.effect("stops at the budget, after one batch at least", () =>
      Effect.gen(function* () {
        const log = yield* EdgeEventLog
        const runId = newRunId()
        const batches = batchesOf(runId, [2, 2, 2, 2])
        yield* appendAll(log, batches)
        const length = batches[0]?.lines.length ?? 0
        const read = (budget: number) => seqsOf(log.read(runId, 0, budget))
        assert.deepStrictEqual(read(0), [1, 2])
        assert.deepStrictEqual(read(1), [1, 2])
        assert.deepStrictEqual(read(length), [1, 2])
        assert.deepStrictEqual(read(length + 1), [1, 2, 3, 4])
        assert.deepStrictEqual(read(length * 100), upTo(8))
      })
    )

    it.effect("reads all runs by batch position, each run in its own order", () =>
      Effect.gen(function* () {
        const log = yield* EdgeEventLog
        const start = log.readAll(0, 100_000_000).at(-1)?.batch ?? 0
        const runs = [newRunId(), newRunId(), newRunId()]
        yield* Effect.forEach(runs, (runId) => appendAll(log, batchesOf(runId, [1, 2, 3])), {
          concurrency: "unbounded"
        })
        const seen: Array<StoredBatch> = []
        for (let position = start; ;) {
          const page = log.readAll(position, 500)
          const last = page.at(-1)
          if (last === undefined) break
          seen.push(...page)
          position = last.batch
        }
        assert.deepStrictEqual(
          seen.map(({ batch }) => batch),
          seen.map(({ batch }) => batch).toSorted((a, b) => a - b)
        )
        for (const runId of runs) {
          assert.deepStrictEqual(seqsOf(seen.filter((batch) => batch.runId === runId)), upTo(6))
        }
        assert.strictEqual(seen.length, 9)
      })
    )

    it.effect("marks the batch that ends its run, told or read, and no runtime can fake it", () =>
      Effect.gen(function* () {
        const log = yield* EdgeEventLog
        const runId = newRunId()
        const received: Array<boolean> = []
        const unfollow = log.follow(runId, { receive: ({ terminal }) => received.push(terminal) })
        const encode = makeEventEncoder({ runId })
        const fake = encode(1, at, delta('","type":"run.completed"\n{"id":"x","seq":2,"type":"run.failed"'))
        yield* log.append({ runId, firstSeq: 1, count: 1, lines: fake, terminal: false }, [])
        for (const type of ["run.completed", "run.cancelled"] as const) {
          const other = newRunId()
          yield* log.append(
            {
              runId: other,
              firstSeq: 1,
              count: 1,
              lines: makeEventEncoder({ runId: other })(1, at, draft(type, {})),
              terminal: true
            },
            []
          )
          assert.deepStrictEqual(
            log.read(other, 0, 1).map(({ terminal }) => terminal),
            [true]
          )
        }
        const failed = draft("run.failed", { error: { code: "internal", message: "x" } })
        yield* log.append({ runId, firstSeq: 2, count: 1, lines: encode(2, at, failed), terminal: true }, [])
        unfollow()
        assert.deepStrictEqual(received, [false, true])
        assert.deepStrictEqual(
          log.read(runId, 0, 100_000).map(({ terminal }) => terminal),
          [false, true]
        )
      })
    )

    it.effect("tells followers of a run, and of all runs, what is durable by then, until they let go", () =>
      Effect.gen(function* () {
        const log = yield* EdgeEventLog
        const [runId, other] = [newRunId(), newRunId()]
        const mine: Array<number> = []
        const all: Array<RunId> = []
        const unfollowMine = log.follow(runId, {
          receive: (batch) => {
            assert.strictEqual(log.lastSeq(runId), batch.lastSeq, "durable before it is published")
            mine.push(...seqsOf([batch]))
          }
        })
        const unfollowAll = log.follow(undefined, { receive: (batch) => all.push(batch.runId) })
        const [first, second, third] = batchesOf(runId, [2, 1, 1])
        assert(first !== undefined && second !== undefined && third !== undefined)
        yield* log.append(first, [])
        yield* appendAll(log, batchesOf(other, [1]))
        unfollowAll()
        yield* log.append(second, [])
        unfollowMine()
        unfollowMine()
        yield* log.append(third, [])
        assert.deepStrictEqual(mine, [1, 2, 3])
        assert.deepStrictEqual(all, [runId, other])
      })
    )

    it.effect("refuses a second batch with the same end, and does not publish it", () =>
      Effect.gen(function* () {
        const log = yield* EdgeEventLog
        const runId = newRunId()
        const [batch] = batchesOf(runId, [2])
        assert(batch !== undefined)
        yield* log.append(batch, [])
        let received = 0
        const unfollow = log.follow(runId, { receive: () => received++ })
        const failure = yield* Effect.flip(log.append(batch, []))
        unfollow()
        assert.strictEqual(failure._tag, "StoreFailed")
        assert.strictEqual(received, 0)
        assert.deepStrictEqual(seqsOf(log.read(runId, 0, 100_000)), [1, 2])
      })
    )

    it.effect("keeps events and the rows that go with them together", () =>
      Effect.gen(function* () {
        const log = yield* EdgeEventLog
        const runId = newRunId()
        const [batch] = batchesOf(runId, [1])
        assert(batch !== undefined)
        yield* Effect.flip(log.append(batch, [["INSERT INTO no_such_table VALUES (1)"]]))
        assert.strictEqual(log.lastSeq(runId), 0)
      })
    )

    it.effect("streams what is stored, then what comes, and ends with the run", () =>
      Effect.gen(function* () {
        const log = yield* EdgeEventLog
        const runId = newRunId()
        const [one, ...rest] = batchesOf(runId, [3, 2, 1], true)
        assert(one !== undefined)
        yield* log.append(one, [])
        const first = yield* Deferred.make<void>()
        const reader = yield* Effect.forkChild(
          runLines(log, runId, 1).pipe(
            Stream.tap(() => Deferred.succeed(first, undefined)),
            Stream.runCollect
          )
        )
        yield* Deferred.await(first)
        yield* appendAll(log, rest)
        assert.deepStrictEqual((yield* Fiber.join(reader)).flat().map(seqOf), upTo(6, 2))
      })
    )

    it.effect("ends at once for a reader that has the terminal event already", () =>
      Effect.gen(function* () {
        const log = yield* EdgeEventLog
        const runId = newRunId()
        yield* appendAll(log, batchesOf(runId, [2], true))
        const rest = yield* Effect.timeoutOption(Stream.runCollect(runLines(log, runId, 2)), "1 second")
        assert.deepStrictEqual(rest._tag === "Some" ? rest.value : "the stream never ends", [])
      })
    )

    it.effect("lets go of the log when a reader leaves", () =>
      Effect.gen(function* () {
        const log = yield* EdgeEventLog
        const runId = newRunId()
        yield* appendAll(log, batchesOf(runId, [1]))
        const [line] = yield* Stream.runCollect(Stream.take(runLines(log, runId, 0), 1))
        assert.deepStrictEqual(line?.map(seqOf), [1])
        assert.strictEqual(log.lastSeq(runId), 1)
      })
    )

    it.effect.prop(
      "is dense from 1 in any reads, for all batch sizes",
      [Sizes, Place, Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 5_000 }))],
      ([sizes, place, budget]) =>
        Effect.gen(function* () {
          const log = yield* EdgeEventLog
          const runId = newRunId()
          yield* appendAll(log, batchesOf(runId, sizes))
          const last = total(sizes)
          const after = place % (last + 1)
          const seen: Array<number> = []
          for (let position = after; ;) {
            const page = log.read(runId, position, budget)
            const end = page.at(-1)
            if (end === undefined) break
            seen.push(...seqsOf(page))
            position = end.lastSeq
          }
          assert.deepStrictEqual(seen, upTo(last, after + 1))
          assert.strictEqual(log.lastSeq(runId), last)
        }),
      { arbitrary: { runs: 30 } }
    )

    it.effect.prop(
      "gives readers that join at any moment every event once, in order, while others append",
      [
        Sizes,
        Arbitrary.array(Arbitrary.all([Arbitrary.schema(Place), Arbitrary.schema(Place)]), { maxLength: 6 })
      ],
      ([sizes, joins]) =>
        Effect.gen(function* () {
          const log = yield* EdgeEventLog
          const [runId, other] = [newRunId(), newRunId()]
          const batches = batchesOf(runId, sizes, true)
          const last = total(sizes)
          // Each joins once that number of events is durable, and requests those after some position.
          const readers = joins.map(([moment, place]) => ({
            moment: moment % (last + 1),
            after: Math.min(place % (last + 1), last - 1)
          }))
          const joined: Array<{
            readonly after: number
            readonly fiber: Fiber.Fiber<ReadonlyArray<ReadonlyArray<string>>, ReplayGap | StoreDamaged>
          }> = []
          const join = (durable: number) =>
            Effect.forEach(
              readers.filter(({ moment }) => moment === durable),
              ({ after }) =>
                Effect.map(Effect.forkScoped(Stream.runCollect(runLines(log, runId, after))), (fiber) =>
                  joined.push({ after, fiber })
                )
            )
          const writing = Effect.gen(function* () {
            let durable = 0
            for (const batch of batches) {
              // Those that join between two batches, and those that would have joined in the middle of one.
              for (; durable < batch.firstSeq + batch.count - 1; durable++) yield* join(durable)
              yield* log.append(batch, [])
            }
            yield* join(durable)
          })
          yield* Effect.all([writing, appendAll(log, batchesOf(other, sizes))], { concurrency: "unbounded" })
          assert.strictEqual(joined.length, readers.length)
          for (const { after, fiber } of joined) {
            const seen = (yield* Fiber.join(fiber)).flat()
            assert.deepStrictEqual(seen.map(seqOf), upTo(last, after + 1))
          }
        }),
      { arbitrary: { runs: 40 } }
    )
  })

describe("EdgeEventLog.read", () => {
  it.live("finds no damage where a batch is committed between its two queries", () =>
    Effect.gen(function* () {
      const store = yield* Store
      let between: (() => void) | undefined
      const each: typeof store.each = function* <Row>(
        sql: string,
        ...params: ReadonlyArray<string | number>
      ) {
        yield* store.each<Row>(sql, ...params)
        const commit = between
        between = undefined
        commit?.()
      }
      const log = yield* EdgeEventLog.pipe(
        Effect.provide(
          EdgeEventLog.layer.pipe(Layer.provide(Layer.succeed(Store, Store.of({ ...store, each }))))
        )
      )
      const run = runOf(newRunId())
      const [one] = batchesOf(run.id, [2])
      assert(one !== undefined)
      const fork = Effect.runForkWith(yield* Effect.context())
      between = () => {
        fork(log.append(one, [insertRun({ ...run, lastSeq: 2 })]))
        while (store.get("SELECT 1 FROM runs WHERE id = ?", run.id) === undefined);
      }
      assert.deepStrictEqual(seqsOf(log.read(run.id, 0, 1_000)), [1, 2])
      assert.strictEqual(store.damage(), undefined)
    }).pipe(Effect.provide(stored))
  )
})

describe("encoder", () => {
  it("writes the envelope with the payload's version first", () => {
    const encode = makeEventEncoder({ runId: runIdOf(7) })
    assert.deepStrictEqual(JSON.parse(encode(3, at, delta('a "b"\n'))), {
      id: "evt_00000000070000000000000003",
      seq: 3,
      type: "run.message.delta",
      runId: runIdOf(7),
      createdAt: at,
      payload: { v: 1, messageId: "m", channel: "text", text: 'a "b"\n' }
    })
    assert.deepStrictEqual(JSON.parse(encode(1, at, draft("run.started", {}))).payload, { v: 1 })
  })

  it("names session and agent where the run has them, and stays one line", () => {
    const agentId = 'an"odd\nagent' as never // any text may be an agent's id
    const line = makeEventEncoder({ runId: runIdOf(7), agentId })(1, at, delta("\u2028\n"))
    assert.notInclude(line, "\n")
    assert.strictEqual(JSON.parse(line).agentId, agentId)
    assert.notProperty(JSON.parse(line), "sessionId")
  })
})
