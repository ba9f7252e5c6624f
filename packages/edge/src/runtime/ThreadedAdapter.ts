/**
 * External adapter as the Edge sees it: its data, and functions that call its thread.
 *
 * Guarantees: no code of the adapter runs in the Edge's thread. A call that throws or blocks fails its run with one sentence; a thread that
 * ended is replaced at the next run.
 */
import type { AnyRuntimeAdapter, StreamProtocol } from "@corral/domain/run/RuntimeAdapter"
import { Effect, type Scope } from "effect"
import { AdapterFault, AdapterThread } from "./AdapterThread.ts"
import { adapterOf } from "./AdapterShape.ts"
import { checkedAdapter } from "./CheckedAdapter.ts"
import type { AdapterCall, AdapterDescription } from "./AdapterWorker.ts"
import { ThreadedProtocol } from "./ThreadedProtocol.ts"

export interface ThreadedAdapterOptions {
  /** The adapter's module. */
  readonly file: string
  /** The Edge's environment. */
  readonly environment: Readonly<Record<string, string | undefined>>
  /**
   * Called with a sentence when a call failed, and with `undefined` when a later run was decoded to its end. `where` is the function of a
   * fault outside of a run.
   */
  readonly report: (id: string, problem: string | undefined, where?: string) => void
}

/** Threads of one adapter, one at a time. */
class AdapterThreads {
  readonly #options: ThreadedAdapterOptions
  #thread: AdapterThread
  #isClosed = false

  constructor(options: ThreadedAdapterOptions) {
    this.#options = options
    this.#thread = new AdapterThread(options.file, options.environment)
  }

  /** The thread, or another one if it has ended. Calls wait in it until the module is loaded. */
  get current(): AdapterThread {
    if (this.#thread.isOver && !this.#isClosed) {
      this.#thread = new AdapterThread(this.#options.file, this.#options.environment)
      this.#thread.send({ _tag: "Load" })
    }
    return this.#thread
  }

  close(): void {
    this.#isClosed = true
    this.#thread.close()
  }
}

const sample = {
  prompt: "",
  mode: "full_access",
  workspacePath: "/",
  projectSettings: "ignored",
  denyRules: []
}

/** Loads an adapter in its own thread, until the scope closes. Fails with a clause that continues "The adapter … ". */
export const openThreadedAdapter = Effect.fnUntraced(function* (
  options: ThreadedAdapterOptions
): Effect.fn.Return<AnyRuntimeAdapter, string, Scope.Scope> {
  const threads = yield* Effect.acquireRelease(
    Effect.sync(() => new AdapterThreads(options)),
    (opened) => Effect.sync(() => opened.close())
  )
  const call = (request: AdapterCall, situation: string) =>
    Effect.mapError(threads.current.call(request, situation), ({ isOver, reason }) =>
      isOver || request._tag !== "Load" ? `it ${reason}` : `importing it ${reason}`
    )
  const description = (yield* call({ _tag: "Load" }, "when it was imported")) as AdapterDescription // the answer of `Load`
  const adapter = yield* Effect.fromResult(adapterOf(rebuilt(description, threads)))
  yield* call({ _tag: "Open", run: 0, start: sample }, "when its protocol was made")
  yield* call({ _tag: "Close", run: 0 }, "when its protocol was made")
  return checkedAdapter(
    { ...adapter, protocol: protocolOf(adapter.id, threads, options.report) },
    options.report
  )
})

const protocolOf = (id: string, threads: AdapterThreads, report: ThreadedAdapterOptions["report"]) => {
  let runs = 0
  return (start: unknown): StreamProtocol => {
    const run = ++runs
    const thread = threads.current
    const fail = ({ reason }: AdapterFault): string => {
      const sentence = `The adapter ${id} ${reason}.`
      report(id, sentence)
      return sentence
    }
    try {
      const open = thread.callBlocking({ _tag: "Open", run, start }, "when a run started")
      return new ThreadedProtocol({
        thread,
        run,
        open: String(open),
        fail,
        succeed: () => report(id, undefined)
      })
    } catch (cause) {
      throw cause instanceof AdapterFault ? new Error(fail(cause), { cause }) : cause
    }
  }
}

/** The described value with functions that call the thread. */
const rebuilt = ({ functions, value }: AdapterDescription, threads: AdapterThreads): unknown => {
  for (const path of functions) {
    const owner = path.slice(0, -1).reduce<unknown>((at, name) => Reflect.get(Object(at), name), value)
    const name = path.at(-1) ?? ""
    const call = (...args: ReadonlyArray<unknown>) =>
      threads.current.callBlocking({ _tag: "Call", path, args }, `in ${path.join(".")}`)
    Reflect.set(Object(owner), name, call)
  }
  return value
}
