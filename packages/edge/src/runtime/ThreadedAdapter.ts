/**
 * External adapter as the Edge sees it: its data, and functions that call its thread.
 *
 * Guarantees: no code of the adapter runs in the Edge's thread. A call that throws or blocks fails its run with one sentence; a thread that
 * ended is replaced at the next run.
 */
import type {
  AdapterOutput,
  AnyRuntimeAdapter,
  DecodeFailure,
  OutputDecoder,
  SignInProbe,
  StreamProtocol
} from "@corral/domain/run/RuntimeAdapter"
import { Deferred, Effect, Schema, type Scope, Stream } from "effect"
import { AdapterFault, AdapterThread } from "./AdapterThread.ts"
import { adapterOf, firstProblem } from "./AdapterShape.ts"
import type { AdapterCall, AdapterDescription } from "./AdapterWorker.ts"
import { outputProblem } from "@corral/domain/run/AdapterOutputSchema"
import type { DenyRules, ProjectSettings, RememberedTrust } from "@corral/domain/run/ProjectSettings"

// External adapter whose functions keep the specification, regardless of what its module does.
//
// Guarantees: `command` returns a command or throws an error with one sentence. The other functions never throw, and a fault in them is
// the answer that permits less: rules that cannot be read, a folder that the runtime trusts, an unknown sign-in. Each fault is reported.
//
// Does not: check the protocol. `ThreadedProtocol` does.

const Texts = Schema.Array(Schema.String)

const commandProblem = firstProblem(
  Schema.Struct({
    file: Schema.String.check(Schema.isMinLength(1)),
    args: Texts,
    env: Schema.optional(Schema.Record(Schema.String, Schema.String)),
    settingsFiles: Schema.optional(
      Schema.Array(Schema.Struct({ env: Schema.String, name: Schema.String, content: Schema.String }))
    ),
    stdin: Schema.Literals(["ignore", "once", "pipe"])
  })
)
const rulesProblem = firstProblem(Schema.UndefinedOr(Texts))
const truthProblem = firstProblem(Schema.Boolean)
const signInProblem = firstProblem(Schema.UndefinedOr(Schema.Boolean))

type Check = (value: unknown) => string | undefined

/** Receives a sentence about a fault, and `undefined` after a call without one, by the function. */
type Report = (id: string, problem: string | undefined, where: string) => void

/** Calls of the functions of one adapter. */
class CheckedCalls {
  readonly #id: string
  readonly #report: Report

  constructor(id: string, report: Report) {
    this.#id = id
    this.#report = report
  }

  /** Throws a sentence for a fault, and for a value that is not the specified one. */
  call<A>(where: string, check: Check, use: () => A): A {
    let value: A
    try {
      value = use()
    } catch (cause) {
      if (!(cause instanceof AdapterFault)) throw cause
      throw this.#fault(where, cause.reason, cause)
    }
    const problem = check(value)
    if (problem !== undefined)
      throw this.#fault(where, `failed: ${where} returned an invalid value (${problem})`)
    this.#report(this.#id, undefined, where)
    return value
  }

  /** Returns `instead` for a fault. */
  callOr<A>(instead: A, where: string, check: Check, use: () => A): A {
    try {
      return this.call(where, check, use)
    } catch {
      return instead
    }
  }

  #fault(where: string, reason: string, cause?: unknown): Error {
    const sentence = `The adapter ${this.#id} ${reason}.`
    this.#report(this.#id, sentence, where)
    return new Error(sentence, { cause })
  }
}

const checkedDenyRules = (calls: CheckedCalls, denyRules: DenyRules): DenyRules => ({
  ...denyRules,
  read: (text) => calls.callOr(undefined, "denyRules.read", rulesProblem, () => denyRules.read(text))
})

const checkedTrust = (calls: CheckedCalls, trust: RememberedTrust): RememberedTrust => ({
  ...trust,
  trusts: (text, path) => calls.callOr(true, "trust.trusts", truthProblem, () => trust.trusts(text, path))
})

const checkedSettings = (
  calls: CheckedCalls,
  { denyRules, trust, ...rest }: ProjectSettings
): ProjectSettings => ({
  ...rest,
  ...(denyRules === undefined ? {} : { denyRules: checkedDenyRules(calls, denyRules) }),
  ...(trust === undefined ? {} : { trust: checkedTrust(calls, trust) })
})

const checkedSignIn = (calls: CheckedCalls, { read, ...rest }: SignInProbe): SignInProbe => {
  // Lists and health ask for it each time, so a fault is not repeated: it can block for seconds.
  let hasFailed = false
  return {
    ...rest,
    read: (result) => {
      if (hasFailed) return undefined
      try {
        return calls.call("signedIn.read", signInProblem, () => read(result))
      } catch {
        hasFailed = true
        return undefined
      }
    }
  }
}

const checkedAdapter = (adapter: AnyRuntimeAdapter, report: Report): AnyRuntimeAdapter => {
  const calls = new CheckedCalls(adapter.id, report)
  const { command, probe, projectSettings } = adapter
  const { signedIn } = probe
  return {
    ...adapter,
    ...(signedIn === undefined ? {} : { probe: { ...probe, signedIn: checkedSignIn(calls, signedIn) } }),
    ...(projectSettings === undefined ? {} : { projectSettings: checkedSettings(calls, projectSettings) }),
    command: (start) => calls.call("command", commandProblem, () => command(start))
  }
}

// Conversation of one run in the thread of its adapter. Its decoder waits for the thread without blocking the Edge.
//
// Guarantees: every output is one of the specification. `answer`, `respond`, `input` and `cancel` never throw: a fault in them fails the decoder.

interface ThreadedProtocolOptions {
  readonly thread: AdapterThread
  /** Name of the conversation in the thread. */
  readonly run: number
  readonly open: string
  /** Reports a fault. Returns the sentence for the run. */
  readonly fail: (fault: AdapterFault) => string
  /** Reports that the whole output was decoded. */
  readonly succeed: () => void
}

/** Ends conversations whose run never started. */
const unused = new FinalizationRegistry(({ run, thread }: ThreadedProtocolOptions) =>
  thread.send({ _tag: "Close", run })
)

class ThreadedProtocol implements StreamProtocol {
  readonly open: string
  readonly #options: ThreadedProtocolOptions
  /** Whether the conversation has ended in the thread. */
  #isOver = false
  readonly #failed = Deferred.makeUnsafe<never, DecodeFailure>()

  constructor(options: ThreadedProtocolOptions) {
    this.open = options.open
    this.#options = options
    unused.register(this, options)
  }

  readonly answer: StreamProtocol["answer"] = (key, answer) => this.#text("answer", [key, answer])
  readonly respond: NonNullable<StreamProtocol["respond"]> = (key, response) =>
    this.#text("respond", [key, response])
  readonly input: StreamProtocol["input"] = (text) => this.#text("input", [text])
  readonly cancel: StreamProtocol["cancel"] = () => this.#text("cancel", [])

  readonly decode: OutputDecoder = (stdout, exit) => {
    const { run, succeed, thread } = this.#options
    const atEnd = Effect.tap(
      Effect.flatMap(exit, (end) => this.#outputs("end", end)),
      () => Effect.sync(succeed)
    )
    return stdout.pipe(
      Stream.mapEffect((read) => this.#outputs("step", read)),
      Stream.concat(Stream.fromEffect(atEnd)),
      Stream.flattenIterable,
      Stream.interruptWhen(Deferred.await(this.#failed)),
      Stream.ensuring(
        Effect.sync(() => {
          this.#isOver = true
          thread.send({ _tag: "Close", run })
        })
      )
    )
  }

  #outputs(
    method: "step" | "end",
    input: unknown
  ): Effect.Effect<ReadonlyArray<AdapterOutput>, DecodeFailure> {
    const { fail, run, thread } = this.#options
    return thread.call({ _tag: "Protocol", run, method, args: [input] }, "while it decoded output").pipe(
      Effect.flatMap(checked),
      Effect.mapError((fault) => failure(fail(fault)))
    )
  }

  #text(method: string, args: ReadonlyArray<unknown>): string | undefined {
    const { fail, run, thread } = this.#options
    if (this.#isOver) return undefined
    try {
      const text = thread.callBlocking({ _tag: "Protocol", run, method, args }, `in ${method}`)
      if (text === undefined || typeof text === "string") return text
      throw new AdapterFault({ reason: `failed: ${method} returned no text`, isOver: false })
    } catch (cause) {
      if (!(cause instanceof AdapterFault)) throw cause
      Deferred.doneUnsafe(this.#failed, Effect.fail(failure(fail(cause))))
      return undefined
    }
  }
}

const failure = (message: string): DecodeFailure => ({ _tag: "DecodeFailure", message })

const checked = (value: unknown): Effect.Effect<ReadonlyArray<AdapterOutput>, AdapterFault> => {
  const problem = Array.isArray(value)
    ? value.map(outputProblem).find((found) => found !== undefined)
    : "its outputs are not a list"
  return problem === undefined
    ? Effect.succeed(value as ReadonlyArray<AdapterOutput>) // each was checked
    : Effect.fail(new AdapterFault({ reason: `failed: ${problem}`, isOver: false }))
}

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
