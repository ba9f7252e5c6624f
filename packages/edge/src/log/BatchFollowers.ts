/**
 * Followers of new batches, of one run or of all runs, and programs that wait for the readers of their runs, so that their output does not wait in the kernel's buffers of sockets.
 *
 * Guarantees: the fastest reader sets the pace. A program waits only while no reader of its run has room and one of them is full; a slow reader, one that confirms nothing for `SLOW_AFTER_MS`, is left
 * to read the log. A run without readers, and a run with a reader that has no window, does not wait.
 *
 * Does not: pause a program. The run does, with the answer of `mustWait`.
 */
import type { RunId } from "@corral/domain/identity/Ids"
import type { LogFollower } from "@corral/service/stream/LogSource"
import type { StoredBatch } from "./StoredBatch.ts"

/** Milliseconds between two looks at runs that wait: a reader may have become slow, or have left. */
const LOOK_EVERY_MS = 50

export interface ReaderPaceOptions {
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
