/**
 * Release of memory that only the start of a service needed.
 *
 * V8 shrinks the heap of an idle program some seconds after a collection of the whole heap. A service that does nothing after its start has
 * none, so this module requests one. It pauses the event loop for about 10 ms.
 *
 * Does not: collect while the service is busy. V8 does that.
 */
import { performance } from "node:perf_hooks"
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"

const LOOK_EVERY_MS = 2_000
/** A service that has begun to work by then keeps its memory: a collection of the whole heap would also discard compiled code that the work needs. */
const LOOKS = 3
/** Share of the time in which the event loop of an idle service works. */
const IDLE = 0.05

/** Node passes the function to new contexts only. */
const collectGarbage = (): void => {
  setFlagsFromString("--expose-gc")
  const collect: unknown = runInNewContext("gc")
  setFlagsFromString("--no-expose-gc")
  if (typeof collect === "function") collect()
}

/** Waits for the first idle moment after the start. */
export const releaseStartMemory = (): void => {
  let before = performance.eventLoopUtilization()
  let looks = 0
  const timer = setInterval(() => {
    const now = performance.eventLoopUtilization()
    const { utilization } = performance.eventLoopUtilization(now, before)
    before = now
    const isIdle = utilization < IDLE
    if (isIdle || ++looks === LOOKS) clearInterval(timer)
    if (isIdle) collectGarbage()
  }, LOOK_EVERY_MS)
  timer.unref()
}
