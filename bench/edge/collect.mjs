/** Preloaded into a server whose memory is measured: SIGUSR2 collects its garbage. Needs `--expose-gc`. */
import { isMainThread } from "node:worker_threads"

if (isMainThread) process.on("SIGUSR2", () => globalThis.gc())
