/**
 * A store whose file was damaged while no Edge had it open: bytes flipped, pages overwritten, moved or zeroed, the file cut. All
 * that is served was written; everything else is `StoreDamaged`, or a start that is refused in one sentence.
 */
import type { RunId } from "@corral/domain/identity/Ids"
import { draft } from "@corral/domain/run/RunEvent"
import { effort } from "@corral/testing/time/Effort"
import { assert, describe, it } from "@effect/vitest"
import Database from "better-sqlite3"
import { eventPage } from "@corral/service/stream/LogSource"
import { Cause, type Context, Effect, Exit, Layer } from "effect"
import * as fc from "fast-check"
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { EdgeEventLog } from "../../src/log/EdgeEventLog.ts"
import { makeEventEncoder } from "../../src/log/StoredEvents.ts"
import { examineStore, integrityCheckLayer } from "../../src/log/StoreExamination.ts"
import { edgeRunSource } from "../../src/log/EdgeLogSource.ts"
import { findRun, insertRun, pageOfRuns, updateRun } from "../../src/log/Runs.ts"
import { Store } from "../../src/store/Store.ts"
import { StoreDamaged } from "../../src/store/StoreDamage.ts"
import { at, runIdOf, runOf } from "../Samples.ts"

/** The first page of a run. */
const itemsOf = (log: EdgeEventLog["Service"], runId: RunId) => {
  const options = { after: 0, limit: 1_000, lastSeq: log.lastSeq(runId), requestId: "req" as never }
  return Effect.runSync(eventPage(edgeRunSource(log, runId), options)).items
}

const RUNS = 6
const BATCHES = 8
const PAGE = 4_096
const ids = Array.from({ length: RUNS }, (_, n) => runIdOf(n + 1))
const folder = mkdtempSync(join(realpathSync(tmpdir()), "corral-damage-"))
const written = new Map<RunId, ReadonlyArray<string>>()

const opened = (file: string) =>
  integrityCheckLayer.pipe(
    Layer.provideMerge(EdgeEventLog.layer),
    Layer.provideMerge(Layer.fresh(Store.layer(file)))
  )

/** Runs that differ in every line, of sizes that fill a page, a part of one, and several. */
const write = Effect.gen(function* () {
  const log = yield* EdgeEventLog
  const store = yield* Store
  for (const [n, runId] of ids.entries()) {
    const encode = makeEventEncoder({ runId })
    const lines: Array<string> = []
    yield* store.commit([insertRun(runOf(runId))])
    for (let batch = 0; batch < BATCHES; batch++) {
      const terminal = batch === BATCHES - 1
      const text = `${runId} ${batch} `.repeat(1 + ((n * 7 + batch * 13) % 60))
      const firstSeq = lines.length + 1
      const events = Array.from({ length: 1 + (batch % 3) }, (_, i) =>
        encode(
          firstSeq + i,
          at,
          terminal && i === batch % 3
            ? draft("run.completed", {})
            : draft("run.message.delta", { messageId: "m", channel: "text", text })
        )
      )
      lines.push(...events)
      const run = runOf(runId, {
        lastSeq: lines.length,
        ...(terminal ? { state: "completed", endedAt: at } : {})
      })
      yield* log.append({ runId, firstSeq, count: events.length, lines: events.join("\n"), terminal }, [
        updateRun(run)
      ])
    }
    written.set(runId, lines)
  }
})

const sound = await (async () => {
  const file = join(folder, "sound", "edge.db")
  mkdirSync(join(folder, "sound"))
  await Effect.runPromise(Effect.scoped(Effect.provide(write, opened(file))))
  const db = new Database(file)
  db.pragma("wal_checkpoint(TRUNCATE)")
  db.close()
  return readFileSync(file)
})()
process.once("exit", () => rmSync(folder, { recursive: true, force: true }))

type Damage = (bytes: Buffer) => Buffer
const pages = Math.floor(sound.length / PAGE)
const place = fc.nat({ max: sound.length - 1 })
const page = fc.nat({ max: pages - 1 })
const overPage =
  (target: number, make: (old: Buffer) => Buffer): Damage =>
  (bytes) => {
    const old = Buffer.from(bytes.subarray(target * PAGE, (target + 1) * PAGE))
    make(old).copy(bytes, target * PAGE)
    return bytes
  }
const one: fc.Arbitrary<Damage> = fc.oneof(
  fc.tuple(place, fc.integer({ min: 1, max: 255 })).map(([i, mask]): Damage => (bytes) => {
    bytes[i] = (bytes[i] ?? 0) ^ mask
    return bytes
  }),
  fc.tuple(place, fc.uint8Array({ minLength: 1, maxLength: 200 })).map(([i, noise]): Damage => (bytes) => {
    Buffer.from(noise).copy(bytes, i)
    return bytes
  }),
  page.map((target) => overPage(target, () => Buffer.alloc(PAGE))),
  fc
    .tuple(page, fc.uint8Array({ minLength: PAGE, maxLength: PAGE }))
    .map(([target, noise]) => overPage(target, () => Buffer.from(noise))),
  // A write that went to the wrong place, and one that was torn.
  fc
    .tuple(page, page)
    .map(([from, to]) => overPage(to, () => sound.subarray(from * PAGE, (from + 1) * PAGE))),
  fc
    .tuple(page, fc.integer({ min: 1, max: PAGE - 1 }))
    .map(([target, cut]) =>
      overPage(target, (old) => Buffer.concat([old.subarray(0, cut), Buffer.alloc(PAGE - cut)]))
    ),
  place.map(
    (length): Damage =>
      (bytes) =>
        bytes.subarray(0, length)
  )
)
const damages = fc.array(one, { minLength: 1, maxLength: 3 })

/** Reads by every way there is; gives which runs could not be read to their end. */
const readEverything = Effect.gen(function* () {
  const log = yield* EdgeEventLog
  const store = yield* Store
  const attempt = <A>(read: () => A): A | undefined => {
    try {
      return read()
    } catch (error) {
      // Nothing else may come out of a read.
      assert.instanceOf(error, StoreDamaged)
      return undefined
    }
  }
  const broken: Array<RunId> = []
  for (const runId of ids) {
    const lines = written.get(runId) ?? []
    let seq = 0
    for (;;) {
      const batches = attempt(() => log.read(runId, seq, 1))
      if (batches === undefined) broken.push(runId)
      if (batches === undefined || batches.length === 0) break
      for (const batch of batches) {
        const served = batch.lines.split("\n")
        assert.deepStrictEqual(served, lines.slice(seq, seq + served.length))
        seq += served.length
      }
    }
    if (!broken.includes(runId) && attempt(() => findRun(store, runId)) !== undefined)
      assert.strictEqual(seq, lines.length, "a log that ends early does not pass for whole")
    const items = attempt(() => itemsOf(log, runId)) ?? []
    assert.deepStrictEqual(
      items.map((item) => JSON.stringify(item)),
      lines.slice(0, items.length)
    )
    attempt(() => log.lastSeq(runId))
    attempt(() => log.endsAt(runId, lines.length))
  }
  const all = new Set([...written.values()].flat())
  for (const { lines } of attempt(() => log.readAll(0, 10_000_000)) ?? [])
    for (const line of lines.split("\n")) assert.isTrue(all.has(line), line.slice(0, 200))
  attempt(() => pageOfRuns(store, { limit: 100 }))
  if (broken.length > 0) assert.isDefined(store.damage(), "what a reader ran into is reported")
  return broken
})

let copies = 0
/** Opens a damaged copy and reads it: the runs that are broken, or the sentence with which the start was refused. */
const examine = async (bytes: Buffer): Promise<ReadonlyArray<RunId> | string> => {
  const home = join(folder, String(copies++))
  mkdirSync(home)
  writeFileSync(join(home, "edge.db"), bytes)
  const exit = await Effect.runPromiseExit(
    Effect.scoped(
      Effect.flatMap(Layer.build(opened(join(home, "edge.db"))), (context) =>
        Effect.provide(readEverything, context as Context.Context<EdgeEventLog | Store>)
      )
    )
  )
  // The examination without an Edge finds at least what a reader finds. The Edge has changed the file by now, so this is another copy.
  writeFileSync(join(home, "edge.db"), bytes)
  for (const name of ["edge.db-wal", "edge.db-shm"]) rmSync(join(home, name), { force: true })
  const finding = examineStore(home)
  rmSync(home, { recursive: true, force: true })
  if (Exit.isSuccess(exit)) {
    if (exit.value.length > 0) assert.isDefined(finding)
    return exit.value
  }
  const error = Cause.squash(exit.cause)
  if (
    error instanceof Error &&
    "_tag" in error &&
    (error._tag === "StoreFailed" || error._tag === "StoreDamaged")
  )
    return error.message
  throw error
}

describe("A damaged store", () => {
  it("serves no altered event, and fails in no other way than by saying that it is damaged", async () => {
    assert.deepStrictEqual(await examine(Buffer.from(sound)), [])
    await fc.assert(
      fc.asyncProperty(damages, async (changes) => {
        const found = await examine(
          changes.reduce<Buffer>((bytes, change) => change(bytes), Buffer.from(sound))
        )
        if (typeof found === "string") assert.match(found, /\S/)
      }),
      { numRuns: 15 * effort }
    )
  })

  it("is found by the examination where an index names other rows than a table has", async () => {
    const file = join(folder, "index.db")
    writeFileSync(file, sound)
    const db = new Database(file, { readonly: true })
    const root = Number(
      db.prepare("SELECT rootpage FROM sqlite_master WHERE name = 'events_by_run'").pluck().get()
    )
    db.close()
    // Entries are at the end of the page: a sequence number, and the number of the row.
    await fc.assert(
      fc.asyncProperty(fc.nat({ max: 1_000 }), fc.integer({ min: 1, max: 7 }), async (fromEnd, mask) => {
        const bytes = Buffer.from(sound)
        const at = root * PAGE - 1 - fromEnd
        bytes[at] = (bytes[at] ?? 0) ^ mask
        await examine(bytes)
      }),
      { numRuns: 30 * effort }
    )
  })

  it("takes no unknown state of a log for one that is no longer kept", async () => {
    const [first = runIdOf(1)] = ids
    const file = join(folder, "state.db")
    writeFileSync(file, sound)
    const db = new Database(file)
    db.prepare("UPDATE runs SET log = 'k' WHERE id = ?").run(first)
    db.prepare("DELETE FROM events WHERE batch = (SELECT max(batch) FROM events WHERE run_id = ?)").run(first)
    db.pragma("wal_checkpoint(TRUNCATE)")
    db.close()
    assert.deepStrictEqual(await examine(readFileSync(file)), [first])
  })

  it("fails in no other way where a run is not JSON, or a column has another name", async () => {
    const file = join(folder, "row.db")
    writeFileSync(file, sound)
    const db = new Database(file)
    db.prepare("UPDATE runs SET snapshot = '{' WHERE id = ?").run(ids[0])
    db.pragma("wal_checkpoint(TRUNCATE)")
    db.close()
    assert.deepStrictEqual(await examine(readFileSync(file)), [])
    const renamed = sound.toString("latin1").replaceAll("lines TEXT", "linez TEXT")
    assert.deepStrictEqual(await examine(Buffer.from(renamed, "latin1")), ids)
  })

  it("refuses one altered character of a payload, for that run alone", async () => {
    const [first = runIdOf(1)] = ids
    const bytes = Buffer.from(sound)
    const wanted = `"text":"${first} 1 `
    // A page that was split keeps a stale copy of what it gave away.
    for (let i = bytes.indexOf(wanted); i > 0; i = bytes.indexOf(wanted)) bytes.write("X", i + 8)
    assert.deepStrictEqual(await examine(bytes), [first])
    const home = join(folder, "altered")
    mkdirSync(home)
    writeFileSync(join(home, "edge.db"), bytes)
    assert.match(examineStore(home) ?? "", /^The stored events of a run are damaged\. Check the disk\./)
    writeFileSync(join(home, "edge.db"), sound)
    assert.isUndefined(examineStore(home))
  })
})
