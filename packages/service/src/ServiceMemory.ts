/**
 * Memory of a service: the growth of V8's young generation is limited, which otherwise reaches 64 MB when a service is first busy, and what only
 * the start needed is released.
 *
 * V8 reads `--max-semi-space-size` before any code runs, and a service starts as `node dist/edge`. So this module sets how much each growth adds:
 * nothing beyond a size, unless collections take a large part of the time. Then larger halves let fewer objects survive. V8 shrinks the young
 * generation of an idle service. For main programs only: an embedded Edge does not change its host's memory.
 *
 * V8 shrinks the heap of an idle program some seconds after a collection of the whole heap. A service that does nothing after its start has none,
 * so this module requests one. It pauses the event loop for about 10 ms.
 *
 * Does not: collect once the service has worked. A collection of the whole heap would also discard compiled code that the work needs.
 */
import { performance, PerformanceObserver } from "node:perf_hooks"
import { getHeapSpaceStatistics, setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"

/** Milliseconds until a start is over, from when on work counts. */
const START_MS = 1_000
/** How long a service has to do nothing after that. */
const REST_MS = 2_000
/** Share of the time in which the event loop of an idle service works. */
const IDLE = 0.05

/** Node passes the function to new contexts only. */
const collectGarbage = (): void => {
  setFlagsFromString("--expose-gc")
  const collect: unknown = runInNewContext("gc")
  setFlagsFromString("--no-expose-gc")
  if (typeof collect === "function") collect()
}

/** Collects once, after the start, if the service has no work until then. */
export const releaseStartMemory = (): void => {
  setTimeout(() => {
    const started = performance.eventLoopUtilization()
    setTimeout(() => {
      if (performance.eventLoopUtilization(started).utilization < IDLE) collectGarbage()
    }, REST_MS).unref()
  }, START_MS).unref()
}

/** Size of both halves together. */
const ENOUGH_BYTES = 16 * 1024 * 1024
/** Milliseconds of collections in a second from which on more memory pays off. */
const MUCH_MS = 25

/** Runs until the process ends. What the start has left is released when the service is idle. */
export const keepYoungGenerationSmall = (): void => {
  releaseStartMemory()
  let growing: boolean | undefined
  let collectedMs = 0
  let lookedAt = performance.now()
  const look = () => {
    const space = getHeapSpaceStatistics().find(({ space_name }) => space_name === "new_space")
    const grow = space === undefined || space.space_size < ENOUGH_BYTES || collectedMs > MUCH_MS
    if (grow === growing) return
    growing = grow
    setFlagsFromString(`--semi-space-growth-factor=${grow ? 2 : 1}`)
  }
  look()
  const observer = new PerformanceObserver((collections) => {
    const now = performance.now()
    // A moving average: the second before counts for a third.
    collectedMs *= Math.exp((lookedAt - now) / 1_000)
    lookedAt = now
    for (const { duration } of collections.getEntries()) collectedMs += duration
    look()
  })
  observer.observe({ entryTypes: ["gc"] })
}
