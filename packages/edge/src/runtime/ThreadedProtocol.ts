/**
 * Conversation of one run in the thread of its adapter. Its decoder waits for the thread without blocking the Edge.
 *
 * Guarantees: every output is one of the specification. `answer`, `respond`, `input` and `cancel` never throw: a fault in them fails the decoder.
 */
import { outputProblem } from "@corral/domain/run/AdapterOutputSchema"
import type {
  AdapterOutput,
  DecodeFailure,
  OutputDecoder,
  StreamProtocol
} from "@corral/domain/run/RuntimeAdapter"
import { Deferred, Effect, Stream } from "effect"
import { AdapterFault, type AdapterThread } from "./AdapterThread.ts"

export interface ThreadedProtocolOptions {
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

export class ThreadedProtocol implements StreamProtocol {
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
