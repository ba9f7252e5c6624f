/**
 * Stopwatch of uncontended time: time in which no task of this machine waited for a processor or a disk. Limits of tests count this time, so that
 * other load fails no test.
 *
 * Linux counts the time in which tasks wait (`/proc/pressure`). Elsewhere all time counts.
 *
 * Guarantees: at least a part of all time counts, so that every limit is reached.
 */
import { readFileSync } from "node:fs"

/** The part of all time that counts under full load, as a divisor. */
const SLOWEST = 8

/** Milliseconds in which a task waited, since the machine started. */
const waitedMillis = (resource: "cpu" | "io"): number => {
  try {
    const text = readFileSync(`/proc/pressure/${resource}`, "latin1")
    return Number(/^some .*total=(\d+)/m.exec(text)?.[1] ?? 0) / 1_000
  } catch {
    return 0
  }
}

const allWaitedMillis = (): number => waitedMillis("cpu") + waitedMillis("io")

export class UncontendedTime {
  readonly #startedAt = performance.now()
  readonly #allWaited: () => number
  readonly #waitedBefore: number

  constructor(allWaited: () => number = allWaitedMillis) {
    this.#allWaited = allWaited
    this.#waitedBefore = allWaited()
  }

  /** Milliseconds since the start. */
  get millis(): number {
    const passed = performance.now() - this.#startedAt
    return Math.max(passed / SLOWEST, passed - (this.#allWaited() - this.#waitedBefore))
  }
}
