/**
 * Thread that searches for the processes of runs. It answers one search after the other.
 *
 * Guarantees: a search of a thread that has ended fails.
 */
import { existsSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { Worker } from "node:worker_threads"
import type { MarkedProcesses, Survivors } from "./MarkSearch.ts"

export interface SearchThread {
  readonly search: (targets: ReadonlyArray<MarkedProcesses>) => Promise<ReadonlyArray<Survivors>>
  readonly close: () => void
}

/** A search needs little memory, and an idle thread keeps what it had. */
const MAX_HEAP_MEGABYTES = 16

/** Next to this file in the sources, and `search.cjs` next to the entry in a build. */
const workerFile = (): URL => {
  const built = new URL("./search.cjs", import.meta.url)
  return existsSync(fileURLToPath(built)) ? built : new URL("./SearchWorker.ts", import.meta.url)
}

export const startSearchThread = (): SearchThread => {
  const worker = new Worker(workerFile(), {
    env: {},
    // Stdout of an Edge is for its ready line.
    stdout: true,
    stderr: true,
    resourceLimits: { maxYoungGenerationSizeMb: 2, maxOldGenerationSizeMb: MAX_HEAP_MEGABYTES }
  })
  worker.unref()
  let pending: PromiseWithResolvers<ReadonlyArray<Survivors>> | undefined
  let failure: Error | undefined
  const fail = (error: Error) => {
    failure ??= error
    pending?.reject(failure)
  }
  worker.on("message", (found: ReadonlyArray<Survivors>) => pending?.resolve(found))
  worker.once("error", fail)
  worker.once("exit", () => fail(new Error("the search thread has ended")))
  return {
    search: (targets) => {
      if (failure !== undefined) return Promise.reject(failure)
      pending = Promise.withResolvers()
      worker.postMessage(targets, [])
      return pending.promise
    },
    close: () => void worker.terminate()
  }
}
