/**
 * Calls into the thread of one external adapter, each with a time limit.
 *
 * Guarantees: a call ends within its limit. If it does not, the thread is ended, and with it every conversation in it.
 * Does not: restart. `ThreadedAdapter` opens another thread.
 */
import { Data, Effect } from "effect"
import { existsSync } from "node:fs"
import { fileURLToPath, pathToFileURL } from "node:url"
import { MessageChannel, receiveMessageOnPort, Worker } from "node:worker_threads"
import type { AdapterAnswer, AdapterCall, AdapterRequest, AdapterWorkerData } from "./AdapterWorker.ts"

/** `reason` continues "The adapter … ". `isOver`: the thread has ended. */
export class AdapterFault extends Data.TaggedError("AdapterFault")<{
  readonly reason: string
  readonly isOver: boolean
}> {}

/** A call that the Edge's thread waits for. Everything of the Edge waits with it. */
const BLOCKING_LIMIT_MS = 2_000
/** An import: it reads files, maybe many, while the machine starts other things. */
const LOAD_LIMIT_MS = 10_000
/** The other calls, under which the rest of the Edge continues. */
const CALL_LIMIT_MS = 5_000
const MAX_HEAP_MEGABYTES = 512

/** Next to this file in the sources, and `adapter.cjs` next to the entry in a build. */
const workerFile = (): URL => {
  const built = new URL("./adapter.cjs", import.meta.url)
  return existsSync(fileURLToPath(built)) ? built : new URL("./AdapterWorker.ts", import.meta.url)
}

/**
 * Variables of the Edge that an adapter may read: it starts nothing itself, and secrets are among the others. The last is Node's folder of
 * compiled code.
 */
const environment = (variables: Readonly<Record<string, string | undefined>>): NodeJS.ProcessEnv =>
  Object.fromEntries(
    ["PATH", "HOME", "USER", "LANG", "TZ", "TMPDIR", "NODE_COMPILE_CACHE"].flatMap((name) =>
      variables[name] === undefined ? [] : [[name, variables[name]]]
    )
  )

const seconds = (millis: number): string => `${millis / 1_000} seconds`

type Resume = (answer: Effect.Effect<unknown, AdapterFault>) => void

export class AdapterThread {
  readonly #worker: Worker
  readonly #channel = new MessageChannel()
  readonly #answers = new MessageChannel()
  readonly #signal = new Int32Array(new SharedArrayBuffer(4))
  readonly #pending = new Map<number, Resume>()
  #requests = 0
  #over: AdapterFault | undefined

  /** `file` is the adapter's module, `edgeEnvironment` its variables. */
  constructor(file: string, edgeEnvironment: Readonly<Record<string, string | undefined>>) {
    const data: AdapterWorkerData = {
      module: pathToFileURL(file).href,
      port: this.#channel.port2,
      answers: this.#answers.port2,
      signal: this.#signal
    }
    this.#worker = new Worker(workerFile(), {
      workerData: data,
      transferList: [this.#channel.port2, this.#answers.port2],
      env: environment(edgeEnvironment),
      // Stdout of an Edge is for its ready line.
      stdout: true,
      stderr: true,
      resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MEGABYTES }
    })
    this.#worker.unref()
    for (const output of [this.#worker.stdout, this.#worker.stderr]) output.resume()
    this.#worker.on("error", ({ message }) =>
      this.#end(`failed outside of a call: ${message.split("\n", 1)[0]}`)
    )
    this.#worker.on("exit", () => this.#end("ended its thread"))
    this.#channel.port1.on("message", (answer: AdapterAnswer) => {
      const resume = this.#pending.get(answer.id)
      this.#pending.delete(answer.id)
      resume?.("error" in answer ? Effect.fail(faultOf(answer.error)) : Effect.succeed(answer.value))
    })
    this.#channel.port1.unref()
    this.#answers.port1.unref()
  }

  /** Whether the thread has ended, so that each further call fails. */
  get isOver(): boolean {
    return this.#over !== undefined
  }

  /** Calls, and blocks until the answer or for two seconds. Throws an `AdapterFault`. */
  callBlocking(call: AdapterCall, situation: string): unknown {
    if (this.#over !== undefined) throw this.#over
    Atomics.store(this.#signal, 0, 0)
    const id = this.#post(call, true)
    const isLate = Atomics.wait(this.#signal, 0, 0, BLOCKING_LIMIT_MS) === "timed-out"
    if (isLate) throw this.#end(`did not answer within ${seconds(BLOCKING_LIMIT_MS)} ${situation}`)
    for (;;) {
      const received: { readonly message: AdapterAnswer } | undefined = receiveMessageOnPort(
        this.#answers.port1
      )
      if (received === undefined) throw faultOf("it gave no answer")
      const { message } = received
      if (message.id !== id) continue
      if ("error" in message) throw faultOf(message.error)
      return message.value
    }
  }

  /** Calls without blocking. `situation` continues "did not answer within 5 seconds ". */
  readonly call = (call: AdapterCall, situation: string): Effect.Effect<unknown, AdapterFault> => {
    const limit = call._tag === "Load" ? LOAD_LIMIT_MS : CALL_LIMIT_MS
    const late = Effect.suspend(() =>
      Effect.fail(this.#end(`did not answer within ${seconds(limit)} ${situation}`))
    )
    return Effect.callback<unknown, AdapterFault>((resume) => {
      if (this.#over !== undefined) return resume(Effect.fail(this.#over))
      const id = this.#post(call, false)
      this.#pending.set(id, resume)
      return Effect.sync(() => void this.#pending.delete(id))
    }).pipe(Effect.timeoutOrElse({ duration: limit, orElse: () => late }))
  }

  /** Sends a call and waits for no answer. */
  send(call: AdapterCall): void {
    if (this.#over === undefined) this.#post(call, false)
  }

  close(): void {
    this.#end("was closed")
  }

  #post(call: AdapterCall, isBlocking: boolean): number {
    const request: AdapterRequest = { id: ++this.#requests, isBlocking, call }
    this.#channel.port1.postMessage(request)
    return request.id
  }

  /** Ends the thread for the first reason, also in an endless loop. */
  #end(reason: string): AdapterFault {
    if (this.#over !== undefined) return this.#over
    const fault = new AdapterFault({ reason, isOver: true })
    this.#over = fault
    void this.#worker.terminate()
    for (const resume of this.#pending.values()) resume(Effect.fail(fault))
    this.#pending.clear()
    return fault
  }
}

const faultOf = (message: string): AdapterFault =>
  new AdapterFault({ reason: `failed: ${message}`, isOver: false })
