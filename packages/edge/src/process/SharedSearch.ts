/**
 * Searches for the processes of runs in another thread, one after the other, shared by the runs that end at about the same time.
 *
 * Guarantees: a search begins after it is requested, so it finds what was alive then. Requests within `SHARED_MS` of the last search share the next one. If the thread fails, the search is made here.
 * A search of a thread that has ended fails.
 *
 * Does not: start the thread before the first search, or keep one that is not used.
 */
import { Context, Effect } from "effect"
import { existsSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { Worker } from "node:worker_threads"
import { findAllSurvivors, type MarkedProcesses, type Survivors } from "./MarkSearch.ts"

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

/** How an Edge starts its thread. A program with many Edges can give them one. */
export const SearchThreadStart = Context.Reference<() => SearchThread>("corral/edge/SearchThreadStart", {
  defaultValue: () => startSearchThread
})

/** How a sweep searches. */
export type FindSurvivors = (target: MarkedProcesses) => Effect.Effect<Survivors>

/** Milliseconds from one search to the next. */
const SHARED_MS = 50
/** Milliseconds after which an unused thread ends. */
const UNUSED_MS = 60_000

interface Request {
  readonly target: MarkedProcesses
  readonly resume: (found: Effect.Effect<Survivors>) => void
}

const unknown: Survivors = { pids: [], certain: false }

export class SharedSearch {
  readonly #start: () => SearchThread
  readonly #onSearch: () => void
  #thread: SearchThread | undefined
  #waiting: Array<Request> = []
  #isSearching = false
  #begunAt = -SHARED_MS
  #timer: NodeJS.Timeout | undefined
  #unused: NodeJS.Timeout | undefined

  /** `onSearch` is called before each search. */
  constructor(onSearch: () => void = () => undefined, start: () => SearchThread = startSearchThread) {
    this.#onSearch = onSearch
    this.#start = start
  }

  readonly find: FindSurvivors = (target) =>
    Effect.callback<Survivors>((resume) => {
      const request = { target, resume }
      this.#waiting.push(request)
      this.#next()
      return Effect.sync(() => {
        this.#waiting = this.#waiting.filter((other) => other !== request)
      })
    })

  close(): void {
    clearTimeout(this.#timer)
    clearTimeout(this.#unused)
    this.#thread?.close()
    this.#thread = undefined
  }

  #next(): void {
    if (this.#isSearching || this.#timer !== undefined || this.#waiting.length === 0) return
    const rest = this.#begunAt + SHARED_MS - performance.now()
    if (rest <= 0) return void this.#search()
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      void this.#search()
    }, rest)
  }

  async #search(): Promise<void> {
    const requests = this.#waiting
    if (requests.length === 0) return
    this.#waiting = []
    this.#isSearching = true
    this.#begunAt = performance.now()
    clearTimeout(this.#unused)
    this.#onSearch()
    const targets = requests.map(({ target }) => target)
    const found = await this.#find(targets)
    this.#isSearching = false
    this.#unused = setTimeout(() => this.close(), UNUSED_MS).unref()
    for (const [at, { resume }] of requests.entries()) resume(Effect.succeed(found[at] ?? unknown))
    this.#next()
  }

  async #find(targets: ReadonlyArray<MarkedProcesses>): Promise<ReadonlyArray<Survivors>> {
    try {
      this.#thread ??= this.#start()
      return await this.#thread.search(targets)
    } catch {
      this.#thread = undefined
      return findAllSurvivors(targets)
    }
  }
}
