/**
 * Output of a run's program: its stdout as a Stream, which the adapter's Stream transformer turns into outputs. The decoder is one fiber; it posts
 * each emission to the run.
 *
 * Guarantees: completes after stdout has ended, also when the decoder fails. A decoder that fails or throws fails its run, and the rest of
 * its output is discarded.
 */
import { outputDecoder } from "@corral/adapters/OutputDecoder"
import type { AnyProtocol, DecodeFailure, ProcessEnd } from "@corral/domain/run/RuntimeAdapter"
import { Array as Arr, Cause, Effect, Exit, Option, Stream } from "effect"
import type { OutputPosition } from "../../journal/RunJournal.ts"
import type { RunMessage } from "../kernel/RunMessage.ts"
import { draft } from "@corral/domain/run/RunEvent"
import type { RunChild } from "../../process/RunChild.ts"

// Stdout of one run's process, as the Stream that the adapter's decoder pulls.
//
// Guarantees: a waiting decoder is resumed by the read, not a turn of the event loop later. While earlier outputs wait for their commit, reads collect
// for the decoder, so that a burst is few large batches (ADR 41). Beyond `UNREAD_LIMIT`, and while the run holds output back, the child's pipe is
// left to fill: a verbose child waits instead of the Edge growing.
//
// Does not: decode. A read counts as unread until its outputs are processed, or until the decoder pulls on without an output.

/** Maximum number of bytes that are read and not processed. */
const UNREAD_LIMIT = 262_144
/** Weight of an emission in bytes, at least: a decoder may emit without reading, and a child may write single bytes. */
const EMISSION_WEIGHT = 1_024

type Reads = Arr.NonEmptyReadonlyArray<Uint8Array>
type Pull = Effect.Effect<Reads, Cause.Done>

export class StdoutReader {
  /** The process whose pipe is paused and resumed. */
  child: Pick<RunChild, "pause" | "resume" | "reportUnread"> | undefined
  /** Called for what the decoder takes, in bytes. */
  onTaken: (bytes: number) => void = () => undefined
  /** Whether the memory of a read may be released when the decoder reads on. */
  releasesReads = false
  #isAccepting = true
  /** Resumes a decoder that waits to be accepted. */
  #accept: (() => void) | undefined
  #reads: Array<Uint8Array> = []
  /** Bytes of `#reads`. */
  #waiting = 0
  /** Bytes that the decoder has pulled since its last emission. */
  #pulled = 0
  /** Weight of what was emitted and is not processed. */
  #emitted = 0
  #isEnded = false
  #isHeld = false
  #wake: (() => void) | undefined
  /** Reads that the decoder may still use. */
  #lent: ReadonlyArray<Uint8Array> = []

  /** Adds a read. */
  push(read: Uint8Array): void {
    this.#reads.push(read)
    this.#waiting += read.length
    this.#adjust()
    this.#resumeDecoder()
  }

  /** Completes the Stream after the reads that wait. */
  end(): void {
    this.#isEnded = true
    this.#resumeDecoder()
  }

  /** Counts what the decoder emits now, and returns its weight for `processed`. */
  emitted(): number {
    const weight = Math.max(this.#pulled, EMISSION_WEIGHT)
    this.#pulled = 0
    this.#emitted += weight
    this.#adjust()
    return weight
  }

  /** Counts what the run has committed. `isHeld`: the run accepts no further output for now. */
  processed(weight: number, isHeld: boolean): void {
    this.#emitted -= weight
    this.#isHeld = isHeld
    this.#adjust()
    this.#resumeDecoder()
  }

  /** Waits until the run accepts further output. For one waiter: the decoder. */
  get accepting(): Effect.Effect<void> {
    if (this.#isAccepting) return Effect.void
    return Effect.callback<void>((resume) => {
      this.#accept = () => resume(Effect.void)
      return Effect.sync(() => (this.#accept = undefined))
    })
  }

  readonly #pull: Pull = Effect.suspend((): Pull => {
    this.#pulled = 0
    this.#release()
    if (this.#hasNext) return this.#take()
    this.#adjust()
    return Effect.callback<Reads, Cause.Done>((resume) => {
      this.#wake = () => resume(Effect.suspend(() => this.#take()))
      return Effect.sync(() => (this.#wake = undefined))
    })
  })

  /** The reads, in order. */
  get stream(): Stream.Stream<Uint8Array> {
    return Stream.fromPull(Effect.succeed(this.#pull))
  }

  /** Whether the decoder may pull: the run accepts output, and there are reads and no outputs wait, or stdout has ended. */
  get #hasNext(): boolean {
    return this.#isAccepting && (this.#isEnded || (this.#emitted === 0 && this.#reads.length > 0))
  }

  #take(): Pull {
    const reads = this.#reads
    if (!Arr.isArrayNonEmpty(reads)) return Cause.done()
    this.#reads = []
    this.#pulled = this.#waiting
    this.#waiting = 0
    if (this.releasesReads) this.#lent = reads
    this.onTaken(this.#pulled)
    return Effect.succeed(reads)
  }

  #release(): void {
    for (const read of this.#lent) detachBuffer(read)
    this.#lent = none
  }

  #resumeDecoder(): void {
    const wake = this.#wake
    if (wake === undefined || !this.#hasNext) return
    this.#wake = undefined
    wake()
  }

  #adjust(): void {
    const unread = this.#waiting + this.#pulled + this.#emitted
    if (this.#isHeld || unread > UNREAD_LIMIT) this.child?.pause()
    else if (unread < UNREAD_LIMIT / 2) this.child?.resume()
    this.child?.reportUnread?.(unread)
    // Reads that wait do not close the gate: only the decoder takes them away.
    this.#isAccepting = !this.#isHeld && this.#emitted <= UNREAD_LIMIT / 2
    if (!this.#isAccepting) return
    const accept = this.#accept
    this.#accept = undefined
    accept?.()
  }
}

const none: ReadonlyArray<never> = []

/** A small read costs less to collect than to release. */
const WORTH_RELEASING = 16_384

/**
 * Releases a read's memory now. The garbage collector sees only the small object that refers to it, so a runtime that prints fast would
 * make the Edge grow by some 70 MB of dead reads.
 */
const detachBuffer = (read: Uint8Array): void => {
  const { buffer } = read
  // A read of a pipe owns its memory. A shared buffer has other users.
  if (buffer instanceof ArrayBuffer && buffer.byteLength === read.length && read.length >= WORTH_RELEASING)
    buffer.transfer(0)
}

export interface RuntimeOutputOptions {
  readonly protocol: AnyProtocol
  readonly stdout: StdoutReader
  /** Succeeds after the process has ended and the run has processed all output before. */
  readonly exit: Effect.Effect<ProcessEnd>
  readonly post: (message: RunMessage) => void
  readonly position: OutputPosition
  /** Bytes of stdout after which the next Edge cannot continue the run. */
  readonly heldBytes?: number | undefined
}

/** The run loses what it was started with. */
const notHeld = draft("run.notice", {
  kind: "warning",
  text: "This run ends if its Edge stops from now on: it has printed more than is stored for the next Edge."
})

export const decodeOutput = Effect.fnUntraced(function* (options: RuntimeOutputOptions) {
  const { post, stdout } = options
  const decoded = yield* Effect.exit(decode(options))
  if (Exit.isFailure(decoded)) {
    yield* Effect.logWarning("failed to decode runtime output", decoded.cause)
    post({ _tag: "DecodeFailed", message: messageOf(decoded.cause) })
  }
  // A decoder may complete before stdout does.
  yield* Stream.runDrain(stdout.stream)
  post({ _tag: "DecodingEnded" })
})

const decode = ({
  exit,
  heldBytes = Infinity,
  position,
  post,
  protocol,
  stdout
}: RuntimeOutputOptions): Effect.Effect<void, DecodeFailure> => {
  let isHeld = position.bytes <= heldBytes
  // A decoder of steps has copied what it keeps when it reads on.
  if (protocol.decode === undefined) stdout.releasesReads = true
  stdout.onTaken = (bytes) => {
    position.bytes += bytes
    if (!isHeld || position.bytes <= heldBytes) return
    isHeld = false
    post({ _tag: "Announced", event: notHeld })
  }
  return outputDecoder(protocol)(stdout.stream, exit).pipe(
    Stream.runForEachArray((outputs) => {
      post({ _tag: "Decoded", outputs, weight: stdout.emitted() })
      return stdout.accepting
    })
  )
}

const messageOf = (cause: Cause.Cause<DecodeFailure>): string =>
  Option.match(Cause.findErrorOption(cause), {
    onSome: ({ message }) => message,
    onNone: () => "The adapter could not decode the runtime's output."
  })
