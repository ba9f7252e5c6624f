/**
 * The decoder of one run: a fiber that passes stdout to the adapter's decoder, synchronous or a Stream transformer, and posts each emission to the
 * run's mailbox.
 *
 * Guarantees: completes after stdout has ended, also when the decoder fails. A decoder that fails or throws fails its run, and the rest of
 * its output is discarded.
 */
import { outputDecoder } from "@corral/adapters/OutputDecoder"
import type {
  AdapterOutput,
  AnyProtocol,
  DecodeFailure,
  ProcessEnd,
  StepDecoder
} from "@corral/domain/run/RuntimeAdapter"
import { Cause, Effect, Exit, Option, Stream } from "effect"
import type { OutputPosition } from "../journal/OutputPosition.ts"
import type { RunMessage } from "./RunMessage.ts"
import { draft } from "@corral/domain/run/RunEvent"
import type { StdoutReader } from "./StdoutReader.ts"

// Early release of the memory of reads.

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
  const { post, protocol, stdout } = options
  const decoded = yield* Effect.exit(
    protocol.decode === undefined ? decodeSteps(protocol, options) : decodeStream(protocol, options)
  )
  if (Exit.isFailure(decoded)) {
    yield* Effect.logWarning("failed to decode runtime output", decoded.cause)
    post({ _tag: "DecodeFailed", message: messageOf(decoded.cause) })
  }
  // A decoder may complete before stdout does.
  yield* Stream.runDrain(stdout.stream)
  post({ _tag: "DecodingEnded" })
})

/** Calls of a synchronous decoder, without a Stream: each read is decoded by the call that received it. */
const decodeSteps = (
  protocol: StepDecoder,
  { exit, heldBytes = Infinity, position, post, stdout }: RuntimeOutputOptions
): Effect.Effect<void> => {
  let isHeld = position.bytes <= heldBytes
  const emit = (outputs: ReadonlyArray<AdapterOutput>): void => {
    if (outputs.length > 0) post({ _tag: "Decoded", outputs, weight: stdout.emitted() })
  }
  const step = (read: Uint8Array): ReadonlyArray<AdapterOutput> => {
    const outputs = protocol.step(read)
    position.bytes += read.length
    if (isHeld && position.bytes > heldBytes) {
      isHeld = false
      post({ _tag: "Announced", event: notHeld })
    }
    // The decoder has copied what it keeps.
    detachBuffer(read)
    return outputs
  }
  return stdout
    .consume((reads) => emit(reads.length === 1 ? step(reads[0]) : reads.flatMap(step)))
    .pipe(
      Effect.andThen(exit),
      Effect.andThen((end) => {
        emit(protocol.end(end))
        return stdout.accepting
      })
    )
}

const decodeStream = (
  protocol: AnyProtocol,
  { exit, post, stdout }: RuntimeOutputOptions
): Effect.Effect<void, DecodeFailure> =>
  outputDecoder(protocol)(stdout.stream, exit).pipe(
    Stream.runForEachArray((outputs) => {
      post({ _tag: "Decoded", outputs, weight: stdout.emitted() })
      return stdout.accepting
    })
  )

const messageOf = (cause: Cause.Cause<DecodeFailure>): string =>
  Option.match(Cause.findErrorOption(cause), {
    onSome: ({ message }) => message,
    onNone: () => "The adapter could not decode the runtime's output."
  })
