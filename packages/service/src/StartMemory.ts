/**
 * Release of memory that only the start of a service needed.
 *
 * V8 shrinks the heap of an idle program some seconds after a collection of the whole heap. A service that does nothing after its start has
 * none, so this module requests one. It pauses the event loop for about 10 ms.
 *
 * Does not: collect once the service has worked. A collection of the whole heap would also discard compiled code that the work needs.
 */
import { performance } from "node:perf_hooks"
import { setFlagsFromString } from "node:v8"
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
