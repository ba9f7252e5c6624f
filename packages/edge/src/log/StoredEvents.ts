/**
 * Reader of stored events.
 *
 * Guarantees: every batch is verified before it is returned. Damage is reported to the store.
 */
import type { RunId } from "@corral/domain/identity/Ids"
import type { Store } from "../store/Store.ts"
import { StoreDamaged } from "../store/StoreDamage.ts"
import { cutBefore, type StoredBatch } from "./StoredBatch.ts"
import { eventColumns, type EventRow, intactBatch, isEvents } from "./EventRows.ts"

/** What reading stored events needs of a store. */
export type ReadableStore = Pick<Store["Service"], "each" | "get" | "reportDamage">

export class StoredEvents {
  readonly #store: ReadableStore
  readonly #checkedFrom: number

  constructor(store: ReadableStore) {
    this.#store = store
    this.#checkedFrom = store.get<{ readonly first_batch: number }>(selectChecked)?.first_batch ?? 1
  }

  /** Batches with events after `after`, oldest first. Throws `StoreDamaged` if the next event is damaged. */
  read(runId: RunId, after: number, budget: number): ReadonlyArray<StoredBatch> {
    let { batches, isBroken } = this.#page(runId, after, budget)
    if (batches.length === 0 && !isBroken) {
      if (after >= this.#storedSeq(runId)) return []
      // Events are missing, or were committed between the two queries. A second read distinguishes the two, because a batch and its run's row are one commit.
      ;({ batches, isBroken } = this.#page(runId, after, budget))
      isBroken ||= batches.length === 0
    }
    const [first, ...rest] = batches
    if (first !== undefined) return first.firstSeq <= after ? [cutBefore(first, after), ...rest] : batches
    if (isBroken && !this.isForgotten(runId)) throw this.#reportDamage(runId)
    return []
  }

  /** Batches of all runs after that position. Forgotten runs and damaged batches are left out. */
  readAll(afterBatch: number, budget: number): ReadonlyArray<StoredBatch> {
    const batches: Array<StoredBatch> = []
    let size = 0
    for (const row of this.#store.each<EventRow>(selectAll, afterBatch)) {
      const batch = intactBatch(row, this.#checkedFrom)
      if (batch === undefined) {
        this.#reportDamage("a run")
        continue
      }
      batches.push(batch)
      size += row.lines.length
      if (size >= budget) break
    }
    return batches
  }

  /** Verifies batches after that position. Returns the last position, or `undefined` at the end. */
  verify(afterBatch: number, budget: number): number | undefined {
    let size = 0
    for (const row of this.#store.each<EventRow>(selectVerified, afterBatch)) {
      if (intactBatch(row, this.#checkedFrom) === undefined) this.#reportDamage("a run")
      else size += row.lines.length
      if (size >= budget) return row.batch
    }
    return undefined
  }

  lastPosition(): number {
    return this.#store.get<{ readonly batch: number | null }>(selectNewest)?.batch ?? 0
  }

  lastSeq(runId: RunId): number {
    return (
      this.#store.get<{ readonly seq: number | null }>(selectLast, runId)?.seq ??
      this.#store.get<{ readonly seq: number }>(selectForgotten, runId)?.seq ??
      0
    )
  }

  isForgotten(runId: RunId): boolean {
    return this.#store.get(selectForgotten, runId) !== undefined
  }

  endsAt(runId: RunId, seq: number): boolean {
    if (this.isForgotten(runId)) return seq === this.lastSeq(runId)
    const batch = seq === 0 ? undefined : this.read(runId, seq - 1, 1)[0]
    return batch?.terminal === true && batch.lastSeq === seq
  }

  /** Sound batches after `after`; `isBroken` if a damaged one ends them. */
  #page(runId: RunId, after: number, budget: number) {
    const batches: Array<StoredBatch> = []
    let next = after + 1
    let size = 0
    let isBroken = false
    for (const row of this.#store.each<EventRow>(selectAfter, runId, after)) {
      // Logs are dense: a gap is possible only before the first row, where `Retention` has begun.
      const isNext = batches.length === 0 ? row.first_seq <= next : row.first_seq === next
      const batch = isNext ? intactBatch(row, this.#checkedFrom) : undefined
      isBroken = batch === undefined
      if (batch === undefined) break
      batches.push(batch)
      next = row.last_seq + 1
      size += row.lines.length
      if (size >= budget) break
    }
    return { batches, isBroken }
  }

  /** The last seq of the run according to its row. */
  #storedSeq(runId: RunId): number {
    return this.#store.get<{ readonly seq: number }>(selectStored, runId)?.seq ?? 0
  }

  #reportDamage(what: string): StoreDamaged {
    const damage = new StoreDamaged({ message: `The stored events of ${what} are damaged.` })
    this.#store.reportDamage(damage)
    return damage
  }
}

const selectAfter = `SELECT ${eventColumns} FROM events WHERE run_id = ? AND last_seq > ? ORDER BY last_seq`
const selectAll = `SELECT ${eventColumns} FROM events WHERE batch > ? AND ${isEvents} AND run_id NOT IN (SELECT id FROM runs WHERE log = 'going') ORDER BY batch`
const selectVerified = `SELECT ${eventColumns} FROM events WHERE batch > ? AND ${isEvents} ORDER BY batch`
const selectNewest = "SELECT max(batch) AS batch FROM events"
const selectChecked = "SELECT first_batch FROM checksums"
const selectStored = "SELECT last_seq AS seq FROM runs WHERE id = ? AND log NOT IN ('going', 'gone')"
const selectLast = "SELECT max(last_seq) AS seq FROM events WHERE run_id = ?"
/** Another value is damage: it does not make a log forgotten. */
const selectForgotten = "SELECT last_seq AS seq FROM runs WHERE id = ? AND log IN ('going', 'gone')"
