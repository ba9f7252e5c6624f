/**
 * Batches that one reader of a run has read from the store, for the other readers of the run that are behind. They are verified once, and
 * their frames are encoded once.
 *
 * Bounded: `LIMIT` characters for all runs. The batches that were read first are dropped first.
 */
import type { RunId } from "@corral/domain/identity/Ids"
import type { StoredBatch } from "./StoredBatch.ts"

const LIMIT = 4 * 1024 * 1024

export class SharedReads {
  /** Batches of a run by the seq of their first event. */
  readonly #byRun = new Map<RunId, Map<number, StoredBatch>>()
  #characters = 0

  /** Batches that follow `after`, about `budget` characters. Reads the store if the next one is not here. */
  read(
    runId: RunId,
    after: number,
    budget: number,
    readStore: () => ReadonlyArray<StoredBatch>
  ): ReadonlyArray<StoredBatch> {
    const found = this.#find(runId, after, budget)
    if (found.length > 0) return found
    const batches = readStore()
    this.#add(runId, batches)
    return batches
  }

  drop(runId: RunId): void {
    for (const { lines } of this.#byRun.get(runId)?.values() ?? []) this.#characters -= lines.length
    this.#byRun.delete(runId)
  }

  #find(runId: RunId, after: number, budget: number): ReadonlyArray<StoredBatch> {
    const shared = this.#byRun.get(runId)
    const batches: Array<StoredBatch> = []
    let next = shared?.get(after + 1)
    for (let size = 0; next !== undefined && (size < budget || size === 0);) {
      batches.push(next)
      size += next.lines.length
      next = shared?.get(next.lastSeq + 1)
    }
    return batches
  }

  #add(runId: RunId, batches: ReadonlyArray<StoredBatch>): void {
    const shared = this.#byRun.get(runId) ?? new Map<number, StoredBatch>()
    this.#byRun.set(runId, shared)
    for (const batch of batches) {
      if (shared.has(batch.firstSeq)) continue
      shared.set(batch.firstSeq, batch)
      this.#characters += batch.lines.length
    }
    this.#dropOldest()
  }

  #dropOldest(): void {
    for (const [runId, shared] of this.#byRun) {
      for (const [seq, { lines }] of shared) {
        if (this.#characters <= LIMIT) return
        shared.delete(seq)
        this.#characters -= lines.length
      }
      this.#byRun.delete(runId)
    }
  }
}
