/**
 * Waits of tests, whose limits count uncontended time.
 */
import { readFileSync } from "node:fs"

// Stopwatch of uncontended time: time in which no task of this machine waited for a processor or a disk. Limits of tests count this time, so that other
// load fails no test. Linux counts the time in which tasks wait (`/proc/pressure`). Elsewhere all time counts. At least a part of all time counts, so
// that every limit is reached.

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

// A bounded wait: the promise's value, or an error that names what did not come.

/** Between two looks at the time. */
const MIN_PAUSE_MS = 10

export const within = async <A>(promise: Promise<A>, millis: number, what: string): Promise<A> => {
  const time = new UncontendedTime()
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    const look = () => {
      const left = millis - time.millis
      if (left <= 0) reject(new Error(`${what} did not come within ${millis} ms`))
      else timer = setTimeout(look, Math.max(left, MIN_PAUSE_MS))
    }
    timer = setTimeout(look, millis)
  })
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}

/**
 * Polls until a value is found, for changes that send no notice. Pauses grow with the time that has passed: a look is a request to a service, and on a
 * busy machine the looks of waiting tests would slow what they wait for.
 */
export const until = async <A>(
  look: () => Promise<A | undefined>,
  what: string,
  millis = 15_000
): Promise<A> => {
  const startedAt = performance.now()
  const time = new UncontendedTime()
  for (;;) {
    const found = await look()
    if (found !== undefined) return found
    const passed = performance.now() - startedAt
    if (passed > millis && time.millis > millis) throw new Error(`${what} did not come within ${millis} ms`)
    await new Promise((resolve) => setTimeout(resolve, Math.min(250, 10 + passed / 4)))
  }
}
