/**
 * Preloaded into a server whose memory is measured: SIGUSR2 collects its garbage and gives back what the young generation has taken, as
 * when memory is short. Needs `--expose-gc`.
 */
import { isMainThread } from "node:worker_threads"

const everything = { type: "major", execution: "sync", flavor: "last-resort" }

if (isMainThread) process.on("SIGUSR2", () => globalThis.gc(everything))
