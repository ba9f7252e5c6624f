import type { DeviceId, RunId } from "@corral/domain/identity/Ids"
import { draft } from "@corral/domain/run/RunEvent"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer, Stream } from "effect"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { EdgeEventLog } from "../../src/log/EdgeEventLog.ts"
import { makeEventEncoder } from "../../src/log/StoredEvents.ts"
import { endPush, insertHubRun } from "../../src/link/HubRuns.ts"
import { insertRun } from "../../src/log/Runs.ts"
import type { RetentionLimits } from "../../src/config/EdgeConfig.ts"
import { BootClock, Retention } from "../../src/retention/Retention.ts"
import { Store, StoreFailed, type Write } from "../../src/store/Store.ts"
import { temporaryFolder } from "../Folder.ts"
import { runLines } from "../../src/log/EdgeLogSource.ts"
import { configLayer, runIdOf, runOf } from "../Samples.ts"

const DAY_MS = 86_400_000

/** A boot clock on which an hour passes from one reading to the next, so that the first pass trusts the clock. */
const hourly = () => {
  let hours = 0
  return () => ({ sinceBoot: 3_600_000 * hours++, boot: "boot" })
}

/** Store, log and retention on a file; open until the scope closes. */
const open = (file: string, retention: RetentionLimits, home = "/nowhere", boot = hourly()) =>
  Effect.map(
    Layer.build(
      Layer.fresh(
        Layer.merge(
          EdgeEventLog.layer,
          Layer.provide(Retention.layer, [configLayer(home, { retention }), Layer.succeed(BootClock, boot)])
        ).pipe(Layer.provideMerge(Store.layer(file)))
      )
    ),
    (context) => ({
      log: Context.get(context, EdgeEventLog),
      retention: Context.get(context, Retention),
      store: Context.get(context, Store)
    })
  )

type Opened = Effect.Success<ReturnType<typeof open>>

const ago = (days: number): string => new Date(Date.now() - days * DAY_MS).toISOString()

/** A run with `batches` of `size` characters each, ended that number of days ago, or live. */
const record = Effect.fnUntraced(function* (
  { log }: Opened,
  runId: RunId,
  endedAt: string | undefined,
  { batches = 3, size = 1_000 }: { readonly batches?: number; readonly size?: number } = {}
) {
  const encode = makeEventEncoder({ runId })
  const text = "x".repeat(size)
  for (let seq = 1; seq <= batches; seq++) {
    const ends = seq === batches && endedAt !== undefined
    const line = encode(
      seq,
      ago(400),
      ends
        ? draft("run.completed", {})
        : draft("run.message.delta", { messageId: "m", channel: "text", text })
    )
    const run = runOf(runId, {
      lastSeq: batches,
      ...(endedAt === undefined ? { state: "running" } : { state: "completed", endedAt })
    })
    const events = { runId, firstSeq: seq, count: 1, lines: line, terminal: ends }
    yield* log.append(events, seq === 1 ? [insertRun(run)] : [])
  }
})

const rowsOf = ({ store }: Opened, runId: RunId): number =>
  store.get<{ readonly n: number }>("SELECT count(*) AS n FROM events WHERE run_id = ?", runId)?.n ?? 0

const stateOf = ({ store }: Opened, runId: RunId) =>
  store.get<{ readonly log: string }>("SELECT log FROM runs WHERE id = ?", runId)?.log

const database = Effect.map(temporaryFolder, (folder) => join(folder, "edge.db"))
const thirty: RetentionLimits = { days: 30, maxMiB: 0 }

describe("Retention", () => {
  it.live("drops the events of runs that ended before, whole, and leaves what is newer or live", () =>
    Effect.gen(function* () {
      const edge = yield* open(yield* database, thirty)
      const [old, recent, live, older] = [runIdOf(1), runIdOf(2), runIdOf(3), runIdOf(4)] as const
      yield* record(edge, older, ago(300))
      yield* record(edge, old, ago(31))
      yield* record(edge, live, undefined)
      yield* record(edge, recent, ago(29))
      const approval: Write = [
        "INSERT INTO approvals (id, run_id, state, approval) VALUES ('apr', ?, 'approved', '{}')",
        old
      ]
      yield* edge.store.commit([approval])
      const reported: Array<RunId> = []
      edge.retention.onForget((runId) => Effect.sync(() => void reported.push(runId)))

      assert.deepStrictEqual(yield* edge.retention.sweep, [older, old], "the one that ended first goes first")
      assert.deepStrictEqual(reported, [older, old])
      assert.deepStrictEqual(
        [old, recent, live, older].map((id) => [rowsOf(edge, id), edge.log.isForgotten(id)]),
        [
          [0, true],
          [3, false],
          [3, false],
          [0, true]
        ]
      )
      // The row says how it ended, and up to where its log went.
      assert.strictEqual(edge.log.lastSeq(old), 3)
      assert.isTrue(edge.log.endsAt(old, 3))
      assert.isFalse(edge.log.endsAt(old, 2))
      assert.deepStrictEqual(edge.log.read(old, 0, 1_000_000), [])
      assert.isDefined(edge.store.get("SELECT id FROM approvals WHERE id = 'apr'"))
      assert.deepStrictEqual(yield* edge.retention.sweep, [], "nothing is left to do")
    })
  )

  it.live("deletes nothing by age at a start whose clock is ahead, and after an hour what is old", () =>
    Effect.gen(function* () {
      const home = yield* temporaryFolder
      let sinceBoot = 600_000
      const boot = () => ({ sinceBoot, boot: "boot" })
      // The last start was a minute ago, and its clock said 60 days less.
      const stored = { wall: Date.now() - 60 * DAY_MS, sinceBoot: sinceBoot - 60_000, boot: "boot" }
      writeFileSync(join(home, "clock.json"), JSON.stringify(stored))
      const edge = yield* open(join(home, "edge.db"), thirty, home, boot)
      yield* record(edge, runIdOf(1), ago(60))
      yield* edge.store.commit([
        ["INSERT INTO idempotency (scope, key, fingerprint, body, created_at) VALUES ('s', 'k', '', '{}', 0)"]
      ])
      assert.deepStrictEqual(yield* edge.retention.sweep, [])
      sinceBoot += 3_599_999
      assert.deepStrictEqual(yield* edge.retention.sweep, [])
      assert.lengthOf(edge.store.all("SELECT key FROM idempotency"), 1)
      sinceBoot++
      assert.deepStrictEqual(yield* edge.retention.sweep, [runIdOf(1)])
      assert.lengthOf(edge.store.all("SELECT key FROM idempotency"), 0)
    })
  )

  it.live("deletes by age at the second of two starts whose clocks agree", () =>
    Effect.gen(function* () {
      const home = yield* temporaryFolder
      const file = join(home, "edge.db")
      const boot = () => ({ sinceBoot: 60_000, boot: "boot" })
      yield* Effect.scoped(
        Effect.gen(function* () {
          const edge = yield* open(file, thirty, home, boot)
          yield* record(edge, runIdOf(1), ago(31))
          assert.deepStrictEqual(yield* edge.retention.sweep, [])
        })
      )
      const edge = yield* open(file, thirty, home, boot)
      assert.deepStrictEqual(yield* edge.retention.sweep, [runIdOf(1)])
    })
  )

  it.live("keeps a run whose end has a time long ago, but was stored after that of a newer one", () =>
    Effect.gen(function* () {
      const edge = yield* open(yield* database, thirty)
      yield* record(edge, runIdOf(1), ago(31))
      // Its time says nothing.
      yield* record(edge, runIdOf(2), ago(-4_000))
      yield* record(edge, runIdOf(3), ago(40))
      yield* record(edge, runIdOf(4), ago(2))
      yield* record(edge, runIdOf(5), "1970-01-01T00:00:10.000Z")
      assert.deepStrictEqual(yield* edge.retention.sweep, [runIdOf(1), runIdOf(3)])
    })
  )

  it.live("applies the size limit regardless of the clock, in the order of the last events", () =>
    Effect.gen(function* () {
      const home = yield* temporaryFolder
      const boot = () => ({ sinceBoot: 60_000, boot: "boot" })
      const edge = yield* open(join(home, "edge.db"), { days: 30, maxMiB: 3 }, home, boot)
      const ids = [5, 3, 1, 4, 2].map(runIdOf)
      // The clock jumped back and forth while they ended.
      for (const [i, id] of ids.entries())
        yield* record(edge, id, ago([0, 500, -70, 20, 1][i] ?? 0), { batches: 11, size: 100_000 })
      const dropped = yield* edge.retention.sweep
      assert.deepStrictEqual(dropped, ids.slice(0, dropped.length))
      assert.isAtLeast(dropped.length, 2)
    })
  )

  it.live("keeps everything without limits", () =>
    Effect.gen(function* () {
      const edge = yield* open(yield* database, { days: 0, maxMiB: 0 })
      yield* record(edge, runIdOf(1), ago(4_000))
      assert.deepStrictEqual(yield* edge.retention.sweep, [])
    })
  )

  it.live("drops those that ended first until the store is small enough, and never a live one", () =>
    Effect.gen(function* () {
      const maxMiB = 3
      const edge = yield* open(yield* database, { days: 30, maxMiB })
      const ids = [5, 3, 1, 4, 2].map(runIdOf)
      // They ended in the order of the list, not of their ids.
      for (const [i, id] of ids.entries())
        yield* record(edge, id, ago(20 - i), { batches: 11, size: 100_000 })
      yield* record(edge, runIdOf(9), undefined, { batches: 11, size: 100_000 })
      const dropped = yield* edge.retention.sweep
      assert.deepStrictEqual(dropped, ids.slice(0, dropped.length))
      assert.isAtLeast(dropped.length, 3)
      assert.strictEqual(rowsOf(edge, runIdOf(9)), 11)
      const used = edge.store.get<{ readonly size: number }>(
        "SELECT (page_count - freelist_count) * page_size / 1048576.0 AS size FROM pragma_page_count, pragma_freelist_count, pragma_page_size"
      )
      assert.isAtMost(used?.size ?? Number.NaN, maxMiB)
    })
  )

  it.live("keeps the logs of live runs when nothing else is left to make the store small enough", () =>
    Effect.gen(function* () {
      const edge = yield* open(yield* database, { days: 30, maxMiB: 1 })
      const [ended, first, second] = [runIdOf(1), runIdOf(2), runIdOf(3)] as const
      const size = { batches: 11, size: 100_000 }
      yield* record(edge, ended, ago(1), size)
      for (const live of [first, second]) yield* record(edge, live, undefined, size)
      assert.deepStrictEqual(yield* edge.retention.sweep, [ended])
      for (const live of [first, second])
        assert.deepStrictEqual([rowsOf(edge, live), stateOf(edge, live)], [11, "kept"])
    })
  )

  it.live("keeps logs that a Hub has not fully received, at any age, until nothing else makes room", () =>
    Effect.gen(function* () {
      const file = yield* database
      const [unsent, acknowledged, local] = [runIdOf(1), runIdOf(2), runIdOf(3)] as const
      yield* Effect.scoped(
        Effect.gen(function* () {
          const edge = yield* open(file, thirty)
          const size = { batches: 11, size: 100_000 }
          for (const id of [unsent, acknowledged]) yield* record(edge, id, ago(40), size)
          yield* record(edge, local, ago(1), size)
          const device = "dev_00000000000000000000000000" as DeviceId
          yield* edge.store.commit([insertHubRun(device, unsent), insertHubRun(device, acknowledged)])
          yield* endPush(edge.store, acknowledged, 11)
          assert.deepStrictEqual(yield* edge.retention.sweep, [acknowledged])
        })
      )
      const edge = yield* open(file, { days: 30, maxMiB: 1 })
      assert.deepStrictEqual(yield* edge.retention.sweep, [local, unsent], "the hard need of the size limit")
    })
  )

  it.live("gives the file system back what it does not need, in a store that was made so", () =>
    Effect.gen(function* () {
      const edge = yield* open(yield* database, thirty)
      yield* record(edge, runIdOf(1), ago(31), { batches: 400, size: 100_000 })
      const pages = () =>
        edge.store.get<{ readonly page_count: number }>("PRAGMA page_count")?.page_count ?? 0
      const before = pages()
      assert.isAbove(before, 9_000)
      yield* edge.retention.sweep
      // 4,096 free pages are kept for what comes next.
      assert.isBelow(pages(), 4_300)
    })
  )

  it.live("continues to delete a log after a restart, and reports it again", () =>
    Effect.gen(function* () {
      const file = yield* database
      const id = runIdOf(1)
      yield* Effect.scoped(
        Effect.gen(function* () {
          const edge = yield* open(file, thirty)
          yield* record(edge, id, ago(31), { batches: 6, size: 10 })
          edge.retention.onForget(() => Effect.fail(new StoreFailed({ message: "not now" })))
          yield* Effect.flip(edge.retention.sweep)
          assert.strictEqual(stateOf(edge, id), "going")
        })
      )
      const edge = yield* open(file, thirty)
      assert.isTrue(edge.log.isForgotten(id))
      const reported: Array<RunId> = []
      edge.retention.onForget((runId) => Effect.sync(() => void reported.push(runId)))
      assert.deepStrictEqual(yield* edge.retention.sweep, [id])
      assert.deepStrictEqual(reported, [id])
      assert.strictEqual(stateOf(edge, id), "gone")
    })
  )

  it.live("hides a log from its first dropped row on", () =>
    Effect.gen(function* () {
      const edge = yield* open(yield* database, thirty)
      const [old, stored] = [runIdOf(1), runIdOf(2)] as const
      yield* record(edge, old, ago(31), { batches: 6, size: 10 })
      yield* record(edge, stored, ago(1))
      // As it is between two of the pass's commits.
      yield* edge.store.commit([
        ["UPDATE runs SET log = 'going' WHERE id = ?", old],
        ["DELETE FROM events WHERE run_id = ? AND last_seq <= 2", old]
      ])
      assert.deepStrictEqual(edge.log.read(old, 0, 1_000_000), [])
      assert.deepStrictEqual(
        edge.log.readAll(0, 1_000_000).map(({ runId }) => runId),
        [stored, stored, stored]
      )
      const gap = yield* Effect.flip(Stream.runCollect(runLines(edge.log, old, 0)))
      assert.strictEqual(gap._tag, "ReplayGap")
      assert.deepStrictEqual(yield* Stream.runCollect(runLines(edge.log, old, 6)), [])
    })
  )

  it.live("forgets old answers to idempotency keys", () =>
    Effect.gen(function* () {
      const edge = yield* open(yield* database, thirty)
      const row = (key: number, hours: number): Write => [
        "INSERT INTO idempotency (scope, key, fingerprint, body, created_at) VALUES ('s', ?, '', '{}', ?)",
        String(key),
        Date.now() - hours * 3_600_000
      ]
      yield* edge.store.commit(Array.from({ length: 450 }, (_, i) => row(i, 25)))
      yield* edge.store.commit([row(1_000, 23)])
      yield* edge.retention.sweep
      assert.deepStrictEqual(edge.store.all("SELECT key FROM idempotency"), [{ key: "1000" }])
    })
  )

  it.live(
    "never gives the position of a deleted batch to another one, so that a reader of all runs continues",
    () =>
      Effect.gen(function* () {
        const edge = yield* open(yield* database, thirty)
        const [old, next, last] = [runIdOf(1), runIdOf(2), runIdOf(3)]
        for (const runId of [old, next]) {
          yield* record(edge, runId, ago(40))
          const newest = edge.log.lastPosition()
          assert.deepStrictEqual(yield* edge.retention.sweep, [runId])
          assert.strictEqual(rowsOf(edge, runId), 0)
          assert.deepStrictEqual(edge.log.readAll(0, 1_000_000), [])
          assert.isAbove(edge.log.lastPosition(), newest)
        }
        const before = edge.log.lastPosition()
        yield* record(edge, last, undefined)
        assert.deepStrictEqual(
          edge.log.readAll(before, 1_000_000).map(({ batch, runId }) => [batch - before, runId]),
          [1, 2, 3].map((n) => [n, last])
        )
        assert.isUndefined(edge.log.verify(0, 1_000_000))
        assert.isUndefined(edge.store.damage())
      })
  )
})
