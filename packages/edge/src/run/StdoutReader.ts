/**
 * Stdout of one run's process: passed to a synchronous decoder, or as the Stream that an adapter's decoder pulls.
 *
 * Guarantees: a synchronous decoder receives a read within the read, and a waiting Stream is resumed by it, not a turn of the event loop later. While earlier outputs wait for their
 * commit, reads collect for the decoder, so that a burst is few large batches (ADR 41). Beyond `UNREAD_LIMIT`, and while the run holds
 * output back, the child's pipe is left to fill: a verbose child waits instead of the Edge growing.
 *
 * Does not: decode. A read counts as unread until its outputs are processed, or until the decoder pulls on without an output.
 */
import type { RunChild } from "../process/RunChild.ts"
import { Array as Arr, Cause, Effect, Stream } from "effect"

/** Maximum number of bytes that are read and not processed. */
const UNREAD_LIMIT = 262_144
/** Weight of an emission in bytes, at least: a decoder may emit without reading, and a child may write single bytes. */
const EMISSION_WEIGHT = 1_024

type Reads = Arr.NonEmptyReadonlyArray<Uint8Array>
/** Synchronous decoder, and what resumes the fiber that waits for its end. */
interface ReadConsumer {
  readonly decode: (reads: Reads) => void
  readonly resume: (end: Effect.Effect<void>) => void
}

type Pull = Effect.Effect<Reads, Cause.Done>

export class StdoutReader {
  /** The process whose pipe is paused and resumed. */
  child: Pick<RunChild, "pause" | "resume" | "reportUnread"> | undefined
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
  #consumer: ReadConsumer | undefined
  #isDelivering = false

  /** Adds a read. */
  push(read: Uint8Array): void {
    this.#reads.push(read)
    this.#waiting += read.length
    this.#adjust()
    if (this.#emitted === 0) this.#resumeDecoder()
  }

  /**
   * Passes the reads to `decode`, in order and together where they have waited. Succeeds when stdout has ended and all was decoded, and dies with what
   * `decode` throws. Use it or the Stream.
   */
  consume(decode: (reads: Reads) => void): Effect.Effect<void> {
    return Effect.callback<void>((resume) => {
      this.#consumer = { decode, resume }
      this.#deliver()
      return Effect.sync(() => (this.#consumer = undefined))
    })
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
    if (this.#hasNext) this.#resumeDecoder()
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
    if (this.#hasNext) return this.#take()
    this.#adjust()
    return Effect.callback<Reads, Cause.Done>((resume) => {
      this.#wake = () => resume(Effect.suspend(() => this.#take()))
      return Effect.sync(() => (this.#wake = undefined))
    })
  })

  /** The reads, in order. */
  readonly stream: Stream.Stream<Uint8Array> = Stream.fromPull(Effect.succeed(this.#pull))

  /** Whether the decoder may pull: there are reads and no outputs wait, or stdout has ended. */
  get #hasNext(): boolean {
    return this.#isEnded || (this.#emitted === 0 && this.#reads.length > 0)
  }

  #take(): Pull {
    const reads = this.#takeReads()
    return reads === undefined ? Cause.done() : Effect.succeed(reads)
  }

  /** Processing an output may accept further reads: the outer call continues then. */
  #deliver(): void {
    if (this.#isDelivering) return
    this.#isDelivering = true
    let end: Effect.Effect<void> | undefined
    try {
      while (this.#consumer !== undefined && end === undefined && this.#isAccepting && this.#hasNext)
        end = this.#decodeNext(this.#consumer)
    } catch (cause) {
      end = Effect.die(cause)
    }
    this.#isDelivering = false
    if (end === undefined) return
    const consumer = this.#consumer
    this.#consumer = undefined
    consumer?.resume(end)
  }

  /** Returns the end if there are no further reads. */
  #decodeNext({ decode }: ReadConsumer): Effect.Effect<void> | undefined {
    const reads = this.#takeReads()
    if (reads === undefined) return Effect.void
    decode(reads)
    // Without an output, the reads are processed.
    if (this.#pulled > 0) {
      this.#pulled = 0
      this.#adjust()
    }
    return undefined
  }

  #takeReads(): Reads | undefined {
    const reads = this.#reads
    if (!Arr.isArrayNonEmpty(reads)) return undefined
    this.#reads = []
    this.#pulled = this.#waiting
    this.#waiting = 0
    return reads
  }

  #resumeDecoder(): void {
    if (this.#consumer !== undefined) return this.#deliver()
    const wake = this.#wake
    this.#wake = undefined
    wake?.()
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
