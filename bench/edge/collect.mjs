/**
 * Preloaded into a server whose memory is measured. SIGUSR2 collects its garbage, returns the memory of the young generation to the system,
 * as when memory is short, and writes the bytes in use, of objects and of buffers, to the file `BENCH_HEAP_FILE`. Needs `--expose-gc`.
 */
import { writeFileSync } from "node:fs"
import { isMainThread } from "node:worker_threads"

const everything = { type: "major", execution: "sync", flavor: "last-resort" }

if (isMainThread)
  process.on("SIGUSR2", () => {
    globalThis.gc(everything)
    const { external, heapUsed } = process.memoryUsage()
    writeFileSync(process.env.BENCH_HEAP_FILE, String(heapUsed + external))
  })
