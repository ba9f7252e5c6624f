/**
 * Keeps V8's young generation as small as the work allows: by itself it grows to 64 MB at a service's first busy moment.
 *
 * `--max-semi-space-size` is read before any code of ours, and a service is started as `node dist/edge`; so what is set is how much each
 * growth adds. Nothing, once there is enough, unless collecting takes a good part of the time: then larger halves let fewer objects
 * survive. V8 shrinks it again when a service is idle. For main programs only: an embedded Edge leaves its host's memory alone.
 */
import { PerformanceObserver } from "node:perf_hooks"
import { getHeapSpaceStatistics, setFlagsFromString } from "node:v8"

/** Both halves together. */
const ENOUGH_BYTES = 16 * 1024 * 1024
/** Of collecting in a second that are worth more memory. */
const MUCH_MS = 25

/** Until the process ends. */
export const keepYoungGenerationSmall = (): void => {
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
    // What was collected a second ago counts for a third.
    collectedMs *= Math.exp((lookedAt - now) / 1_000)
    lookedAt = now
    for (const { duration } of collections.getEntries()) collectedMs += duration
    look()
  })
  observer.observe({ entryTypes: ["gc"] })
}
