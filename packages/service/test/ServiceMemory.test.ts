import { assert, it } from "vitest"
import { execFileSync } from "node:child_process"

/** A program that only starts: V8 has no reason to collect its whole heap. */
const program = `
import { constants, PerformanceObserver } from "node:perf_hooks"
import { releaseStartMemory } from ${JSON.stringify(new URL("../src/ServiceMemory.ts", import.meta.url).href)}
new PerformanceObserver((list) => {
  for (const { detail } of list.getEntries()) {
    if (detail.kind !== constants.NODE_PERFORMANCE_GC_MAJOR) continue
    console.log("collected", typeof globalThis.gc)
    process.exit()
  }
}).observe({ entryTypes: ["gc"] })
releaseStartMemory()
// The observer is called in a turn of the event loop, which an idle one does not begin by itself.
setInterval(() => undefined, 50)
setTimeout(() => process.exit(1), 20_000)
`

it("collects the whole heap of an idle program, and gives the program no means to do it", () => {
  const output = execFileSync(process.execPath, ["--input-type=module", "--eval", program], {
    encoding: "utf8"
  })
  assert.strictEqual(output, "collected undefined\n")
})
