import { assert, describe, it } from "@effect/vitest"
import type { RunId } from "@corral/domain/identity/Ids"
import { SharedReads } from "../../src/log/EdgeEventLog.ts"
import type { StoredBatch } from "../../src/log/StoredEvents.ts"
import { newRunId } from "../Samples.ts"

const MEBI = 1024 * 1024

/** A run's stored batches of two events each, and the number of times that they were read. */
class StoredRun {
  readonly runId: RunId = newRunId()
  readonly batches: ReadonlyArray<StoredBatch>
  reads = 0

  constructor(count: number, characters: number) {
    this.batches = Array.from({ length: count }, (_, i) => ({
      batch: i + 1,
      runId: this.runId,
      firstSeq: 2 * i + 1,
      lastSeq: 2 * i + 2,
      lines: String(i).padEnd(characters),
      terminal: false
    }))
  }

  /** Reads `count` batches after a position, with a budget that fits them. */
  read(shared: SharedReads, after: number, count: number): ReadonlyArray<number> {
    const size = this.batches[0]?.lines.length ?? 0
    const found = shared.read(this.runId, after, size * count, () => {
      this.reads++
      return this.batches.slice(after / 2, after / 2 + count)
    })
    return found.map(({ firstSeq }) => firstSeq)
  }
}

describe("SharedReads", () => {
  it("reads the store once for all readers at a position", () => {
    const shared = new SharedReads()
    const run = new StoredRun(10, 100)
    for (let reader = 0; reader < 100; reader++) assert.deepStrictEqual(run.read(shared, 0, 3), [1, 3, 5])
    assert.strictEqual(run.reads, 1)
  })

  it("returns what it has of the requested batches, and reads the rest from the store", () => {
    const shared = new SharedReads()
    const run = new StoredRun(10, 100)
    run.read(shared, 4, 2)
    assert.deepStrictEqual(run.read(shared, 6, 3), [7])
    assert.deepStrictEqual(run.read(shared, 8, 3), [9, 11, 13])
    assert.deepStrictEqual(run.read(shared, 4, 1), [5])
    assert.strictEqual(run.reads, 2)
  })

  it("does not mix runs", () => {
    const shared = new SharedReads()
    const runs = [new StoredRun(4, 100), new StoredRun(4, 100)]
    for (const run of runs) run.read(shared, 0, 2)
    for (const run of runs) {
      const [first] = shared.read(run.runId, 0, 1, () => [])
      assert.strictEqual(first?.runId, run.runId)
    }
  })

  it("remembers no end of a log: the store is asked again", () => {
    const shared = new SharedReads()
    const run = new StoredRun(2, 100)
    run.read(shared, 0, 2)
    assert.deepStrictEqual(run.read(shared, 4, 2), [])
    assert.deepStrictEqual(run.read(shared, 4, 2), [])
    assert.strictEqual(run.reads, 3)
  })

  it("holds at most 4 MiB, the latest reads, and nothing of a run that was dropped", () => {
    const shared = new SharedReads()
    const runs = [new StoredRun(6, MEBI / 2), new StoredRun(6, MEBI / 2)]
    for (const run of runs) for (let i = 0; i < 6; i++) run.read(shared, 2 * i, 1)
    const held = ({ batches, runId }: StoredRun) =>
      batches.filter(({ firstSeq }) => shared.read(runId, firstSeq - 1, 1, () => []).length > 0).length
    assert.deepStrictEqual(runs.map(held), [2, 6])
    const [first, second] = runs
    assert(first !== undefined && second !== undefined)
    shared.drop(second.runId)
    assert.deepStrictEqual(runs.map(held), [2, 0])
    // The space is free again.
    const third = new StoredRun(6, MEBI / 2)
    for (let i = 0; i < 6; i++) third.read(shared, 2 * i, 1)
    assert.deepStrictEqual([first, third].map(held), [2, 6])
  })
})
