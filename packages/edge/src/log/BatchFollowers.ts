/** Followers of new batches, of one run or of all runs. */
import type { RunId } from "@corral/domain/identity/Ids"
import type { LogFollower } from "@corral/service/stream/LogSource"
import type { StoredBatch } from "./StoredBatch.ts"

/** Receives each batch once it is durable. Must not block and must not throw. */
export interface BatchFollower extends Pick<LogFollower, "window"> {
  readonly receive: (batch: StoredBatch) => void
}

export class BatchFollowers {
  readonly #byRun = new Map<RunId, Set<BatchFollower>>()
  readonly #ofAll = new Set<BatchFollower>()
  readonly #onLast: (runId: RunId) => void

  /** Calls the function when the last follower of a run is removed. */
  constructor(onLast: (runId: RunId) => void) {
    this.#onLast = onLast
  }

  publish(batch: StoredBatch): void {
    this.#byRun.get(batch.runId)?.forEach((follower) => follower.receive(batch))
    this.#ofAll.forEach((follower) => follower.receive(batch))
  }

  /** Adds a follower; the returned function removes it. */
  follow(runId: RunId | undefined, follower: BatchFollower): () => void {
    if (runId === undefined) {
      this.#ofAll.add(follower)
      return () => this.#ofAll.delete(follower)
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

  get hasFollowersOfAll(): boolean {
    return this.#ofAll.size > 0
  }

  /** Whether more than one follower reads the run. */
  areSeveral(runId: RunId): boolean {
    return (this.#byRun.get(runId)?.size ?? 0) > 1
  }
}
