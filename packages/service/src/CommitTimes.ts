/**
 * Commit times of the last minute, to report a disk that stalls.
 *
 * Guarantees: constant memory, and a few additions per commit. Two threads may share the memory: one notes, the other reads.
 * Does not measure: the caller does.
 */
import type { HealthProblem } from "@corral/domain/http/Health"

/** A commit that takes longer is slow: users notice it in every answer that waits for it. */
export const SLOW_COMMIT_MS = 50

const SLOT_MS = 10_000
const SLOTS = 6

/** Slow commits in the last minute, and their share. A single slow commit is usual, for example next to a checkpoint. */
const MIN_SLOW = 3
const MIN_SHARE = 0.01

/** Integers per slot: its number, commits, slow commits, and the slowest in milliseconds. */
const FIELDS = 4

/** Slow commits of the last minute. */
export interface SlowCommits {
  readonly commits: number
  readonly slow: number
  readonly slowestMs: number
}

/** The same in all threads, and not changed by a clock that is set. */
const monotonicMs = (): number => Number(process.hrtime.bigint() / 1_000_000n)

export class CommitTimes {
  /** Pass it to the constructor in another thread to share the times. */
  readonly memory: Int32Array

  constructor(memory: Int32Array = new Int32Array(new SharedArrayBuffer(SLOTS * FIELDS * 4))) {
    this.memory = memory
  }

  note(tookMs: number, now: number = monotonicMs()): void {
    const { memory } = this
    const slot = Math.floor(now / SLOT_MS)
    const at = (slot % SLOTS) * FIELDS
    if (memory[at] !== slot) memory.set([slot, 0, 0, 0], at)
    memory[at + 1] = (memory[at + 1] ?? 0) + 1
    if (tookMs <= SLOW_COMMIT_MS) return
    memory[at + 2] = (memory[at + 2] ?? 0) + 1
    memory[at + 3] = Math.max(memory[at + 3] ?? 0, Math.ceil(tookMs))
  }

  /** `undefined` while commits are fast enough. */
  slow(now: number = monotonicMs()): SlowCommits | undefined {
    const newest = Math.floor(now / SLOT_MS)
    let [commits, slow, slowestMs] = [0, 0, 0]
    for (let at = 0; at < SLOTS * FIELDS; at += FIELDS) {
      const [slot = 0, all = 0, slowOnes = 0, slowest = 0] = this.memory.subarray(at, at + FIELDS)
      if (slot <= newest - SLOTS || slot > newest) continue
      commits += all
      slow += slowOnes
      slowestMs = Math.max(slowestMs, slowest)
    }
    return slow >= MIN_SLOW && slow >= commits * MIN_SHARE ? { commits, slow, slowestMs } : undefined
  }
}

/** The problem in `health`. The service works, so it stays ready. */
export const slowCommitsProblem = (
  part: HealthProblem["part"],
  { commits, slow, slowestMs }: SlowCommits,
  hint: string
): HealthProblem => ({
  part,
  message: `Commits are slow: ${slow} of ${commits} in the last minute took longer than ${SLOW_COMMIT_MS} ms, the slowest ${slowestMs} ms.`,
  hint
})
