/**
 * Limit on the growth of V8's young generation, which otherwise reaches 64 MB when a service is first busy.
 *
 * V8 reads `--max-semi-space-size` before any code runs, and a service starts as `node dist/edge`. So this module sets how much each growth
 * adds: nothing beyond a size, unless collections take a large part of the time. Then larger halves let fewer objects survive. V8 shrinks
 * the young generation of an idle service. For main programs only: an embedded Edge does not change its host's memory.
 */
import { PerformanceObserver } from "node:perf_hooks"
import { getHeapSpaceStatistics, setFlagsFromString } from "node:v8"
import { releaseStartMemory } from "./StartMemory.ts"

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
