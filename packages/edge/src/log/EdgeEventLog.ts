/**
 * Durable event log of the runs of an Edge: per run, events with `seq` dense from 1.
 *
 * Guarantees: an event is durable before it is visible. Its JSON is encoded once; that text is stored, replayed and sent. A log is kept whole or
 * not at all: `Retention` deletes from the first row on. Every batch that is read from the store is verified by its checksum, so damaged events are
 * never served; a read that reaches them throws `StoreDamaged`. Batches that one reader of a run has read are shared with the other readers that
 * are behind, verified and encoded once: at most `LIMIT` characters for all runs, of which the first are dropped first.
 *
 * Does not: authorize readers. A reader is a cursor that reads at its own pace.
 */

import { edgeMetrics } from "../EdgeMetrics.ts"
import { type Committed, committing, Store, type StoreFailed, type Write } from "../store/Store.ts"
import { type NewEvents, type StoredBatch, insertBatchRow, StoredEvents } from "./StoredEvents.ts"
import type { RunId } from "@corral/domain/identity/Ids"
import type { LogFollower } from "@corral/service/stream/LogSource"
import { CurrentMetrics } from "@corral/service/telemetry/Metrics"
import { Context, Effect, Layer } from "effect"

// Followers of new batches, of one run or of all runs, and programs that wait for the readers of their runs, so that their output does not wait in the
// kernel's buffers of sockets.
//
// Guarantees: the fastest reader sets the pace. A program waits only while no reader of its run has room and one of them is full; a slow reader, one that
// confirms nothing for `SLOW_AFTER_MS`, is left to read the log. A run without readers, and a run with a reader that has no window, does not wait.
//
// Does not: pause a program. The run does, with the answer of `mustWait`.

/** Milliseconds between two looks at runs that wait: a reader may have become slow, or have left. */
const LOOK_EVERY_MS = 50

interface ReaderPaceOptions {
  readonly followers: Pick<BatchFollowers, "ofRun" | "hasFollowersOfAll">
  readonly later: (millis: number, look: () => void) => void
}

export class ReaderPace {
  readonly #options: ReaderPaceOptions
  readonly #waiting = new Map<RunId, () => void>()
  #willLook = false

  constructor(options: ReaderPaceOptions) {
    this.#options = options
  }

  /** Whether the program of the run must wait. Calls `resume` once when that may have changed. */
  mustWait(runId: RunId, resume: () => void): boolean {
    if (!this.#areFull(runId)) return false
    this.#waiting.set(runId, resume)
    const onRoom = () => this.#resume(runId)
    for (const { window } of this.#options.followers.ofRun(runId))
      if (window !== undefined) window.onRoom = onRoom
    this.#lookLater()
    return true
  }

  #areFull(runId: RunId): boolean {
    const { followers } = this.#options
    if (followers.hasFollowersOfAll) return false
    let isOneFull = false
    for (const { window } of followers.ofRun(runId)) {
      const state = window?.state ?? "room"
      if (state === "room") return false
      if (state === "full") isOneFull = true
    }
    return isOneFull
  }

  #resume(runId: RunId): void {
    const resume = this.#waiting.get(runId)
    this.#waiting.delete(runId)
    resume?.()
  }

  #lookLater(): void {
    if (this.#willLook) return
    this.#willLook = true
    this.#options.later(LOOK_EVERY_MS, () => {
      this.#willLook = false
      const over = Array.from(this.#waiting.keys()).filter((runId) => !this.#areFull(runId))
      for (const runId of over) this.#resume(runId)
      if (this.#waiting.size > 0) this.#lookLater()
    })
  }
}

/** Receives each batch once it is durable. Must not block and must not throw. */
export interface BatchFollower extends Pick<LogFollower, "window"> {
  readonly receive: (batch: StoredBatch) => void
  /** It is no reader: it changes nothing of the pace of runs. */
  readonly isObserver?: true
}

export class BatchFollowers {
  readonly #byRun = new Map<RunId, Set<BatchFollower>>()
  readonly #ofAll = new Set<BatchFollower>()
  /** Followers of all runs that do not read. */
  readonly #observers = new Set<BatchFollower>()
  readonly #onLast: (runId: RunId) => void

  /** Calls the function when the last follower of a run is removed. */
  constructor(onLast: (runId: RunId) => void) {
    this.#onLast = onLast
  }

  publish(batch: StoredBatch): void {
    this.#byRun.get(batch.runId)?.forEach((follower) => follower.receive(batch))
    this.#ofAll.forEach((follower) => follower.receive(batch))
    this.#observers.forEach((observer) => observer.receive(batch))
  }

  /** Adds a follower; the returned function removes it. */
  follow(runId: RunId | undefined, follower: BatchFollower): () => void {
    if (runId === undefined) {
      const followers = follower.isObserver === true ? this.#observers : this.#ofAll
      followers.add(follower)
      return () => followers.delete(follower)
    }
    const followers = this.#byRun.get(runId) ?? new Set<BatchFollower>()
    this.#byRun.set(runId, followers.add(follower))
    return () => {
      followers.delete(follower)
      if (followers.size > 0 || this.#byRun.get(runId) !== followers) return
      this.#byRun.delete(runId)
      this.#onLast(runId)
    }
  }

  /** Followers of that run alone. */
  ofRun(runId: RunId): Iterable<BatchFollower> {
    return this.#byRun.get(runId) ?? []
  }

  /** Whether a reader of all runs has no window. */
  get hasFollowersOfAll(): boolean {
    return this.#ofAll.size > 0
  }

  /** Whether more than one follower reads the run. */
  areSeveral(runId: RunId): boolean {
    return (this.#byRun.get(runId)?.size ?? 0) > 1
  }
}

const LIMIT = 4 * 1024 * 1024

/**
 * Batches that one reader of a run has read from the store, for the other readers of the run that are behind.
 *
 * @internal
 */
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

export class EdgeEventLog extends Context.Service<
  EdgeEventLog,
  {
    /**
     * Appends the events, if any, together with their rows, passes the batch to its followers, then calls `done`: before it returns where the batch
     * is small and the store is idle.
     */
    readonly submit: (events: NewEvents, projections: ReadonlyArray<Write>, done: Committed) => void
    /** The same as an effect, which cannot be interrupted. */
    readonly append: (
      events: NewEvents,
      projections: ReadonlyArray<Write>
    ) => Effect.Effect<void, StoreFailed>
    /**
     * Batches with events after `after`, oldest first, about `budget` characters (at least one batch if there is one). Empty if the next
     * event is no longer kept. Throws `StoreDamaged` if the next event is damaged.
     */
    readonly read: (runId: RunId, after: number, budget: number) => ReadonlyArray<StoredBatch>
    /** Batches of all runs, by batch position. Forgotten runs and damaged batches are left out. */
    readonly readAll: (afterBatch: number, budget: number) => ReadonlyArray<StoredBatch>
    /** Position of the newest stored batch, 0 without one. Positions are never used again. */
    readonly lastPosition: () => number
    /** Verifies about `budget` characters of batches after that position. Returns the last position, `undefined` at the end. */
    readonly verify: (afterBatch: number, budget: number) => number | undefined
    /** The last durable seq of a run, 0 without one. */
    readonly lastSeq: (runId: RunId) => number
    /** Whether retention has deleted the events of the run, or is deleting them. Only the run's row is left. */
    readonly isForgotten: (runId: RunId) => boolean
    /** Whether the run's last event is the one with that seq. */
    readonly endsAt: (runId: RunId, seq: number) => boolean
    /** Passes every new batch of the run (or of all runs) to the follower, until the returned function is called. */
    readonly follow: (runId: RunId | undefined, follower: BatchFollower) => () => void
    /**
     * Whether the program of the run must wait for its readers. Calls `resume` once when that may have changed: a reader has room, or
     * all of them are slow.
     */
    readonly mustWait: (runId: RunId, resume: () => void) => boolean
  }
>()("corral/edge/EventLog") {
  static readonly layer = Layer.effect(
    EdgeEventLog,
    Effect.suspend(() => make())
  )
}

const make = Effect.fnUntraced(function* () {
  const store = yield* Store
  const reader = new StoredEvents(store)
  const shared = new SharedReads()
  const followers = new BatchFollowers((runId) => shared.drop(runId))
  const submit = yield* makeSubmit(store, followers)
  const append = committing(submit)
  const fork = Effect.runForkWith(yield* Effect.context<never>())
  const pace = new ReaderPace({
    followers,
    later: (millis, look) => void fork(Effect.andThen(Effect.sleep(millis), Effect.sync(look)))
  })
  return EdgeEventLog.of({
    submit,
    append: (events, projections) => Effect.uninterruptible(append(events, projections)),
    read: (runId, after, budget) => {
      const readStore = () => reader.read(runId, after, budget)
      return followers.areSeveral(runId) ? shared.read(runId, after, budget, readStore) : readStore()
    },
    readAll: (afterBatch, budget) => reader.readAll(afterBatch, budget),
    lastPosition: () => reader.lastPosition(),
    verify: (afterBatch, budget) => reader.verify(afterBatch, budget),
    lastSeq: (runId) => reader.lastSeq(runId),
    isForgotten: (runId) => reader.isForgotten(runId),
    endsAt: (runId, seq) => reader.endsAt(runId, seq),
    follow: (runId, follower) => followers.follow(runId, follower),
    mustWait: (runId, resume) => pace.mustWait(runId, resume)
  })
})

const makeSubmit = Effect.fnUntraced(function* (store: Store["Service"], followers: BatchFollowers) {
  const metrics = yield* CurrentMetrics
  const appended = metrics.counter(edgeMetrics.events)
  const committed = metrics.histogram(edgeMetrics.commit)
  return (events: NewEvents, projections: ReadonlyArray<Write>, done: Committed): void => {
    if (events.count === 0) return store.submit(projections, done)
    const startedAt = performance.now()
    const { batch, row } = encodeBatch(events)
    store.submit([row, ...projections], (error) => {
      if (error === undefined) {
        committed.record((performance.now() - startedAt) / 1_000)
        appended.add(events.count)
        followers.publish(batch)
      }
      done(error)
    })
  }
})

const encodeBatch = (events: NewEvents): { readonly batch: StoredBatch; readonly row: Write } => {
  const { count, firstSeq, lines, runId, terminal } = events
  const lastSeq = firstSeq + count - 1
  const bytes = Buffer.from(lines)
  const batch: StoredBatch = { batch: 0, runId, firstSeq, lastSeq, lines, bytes, terminal }
  return { batch, row: insertBatchRow(batch, bytes, events.outputs) }
}
