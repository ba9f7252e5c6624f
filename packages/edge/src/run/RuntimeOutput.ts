/**
 * The decoder of one run: a fiber that runs the adapter's Stream transformer over stdout and posts each emission to the run's mailbox.
 *
 * Guarantees: completes after stdout has ended, also when the decoder fails. A decoder that fails or throws fails its run, and the rest of
 * its output is discarded.
 */
import { fromSteps, outputDecoder } from "@corral/adapters/OutputDecoder"
import type { AnyProtocol, DecodeFailure, OutputDecoder, ProcessEnd } from "@corral/domain/run/RuntimeAdapter"
import { Cause, Effect, Exit, Option, Stream } from "effect"
import type { OutputPosition } from "../journal/OutputPosition.ts"
import { detachBuffer } from "./DetachBuffer.ts"
import type { RunMessage } from "./RunMessage.ts"
import type { StdoutReader } from "./StdoutReader.ts"

export interface RuntimeOutputOptions {
  readonly protocol: AnyProtocol
  readonly stdout: StdoutReader
  /** Succeeds after the process has ended and the run has processed all output before. */
  readonly exit: Effect.Effect<ProcessEnd>
  readonly post: (message: RunMessage) => void
  readonly position: OutputPosition
}

export const decodeOutput = Effect.fnUntraced(function* ({
  exit,
  position,
  post,
  protocol,
  stdout
}: RuntimeOutputOptions) {
  const decoded = yield* decoderOf(protocol, position)(stdout.stream, exit).pipe(
    Stream.runForEachArray((outputs) => {
      post({ _tag: "Decoded", outputs, weight: stdout.emitted() })
      return stdout.accepting
    }),
    Effect.exit
  )
  if (Exit.isFailure(decoded)) {
    yield* Effect.logWarning("failed to decode runtime output", decoded.cause)
    post({ _tag: "DecodeFailed", message: messageOf(decoded.cause) })
  }
  // A decoder may complete before stdout does.
  yield* Stream.runDrain(stdout.stream)
  post({ _tag: "DecodingEnded" })
})

/** A synchronous decoder has copied what it keeps of a read when `step` returns. */
const decoderOf = (protocol: AnyProtocol, position: OutputPosition): OutputDecoder =>
  protocol.decode === undefined
    ? fromSteps({
        step: (read) => {
          const outputs = protocol.step(read)
          position.bytes += read.length
          detachBuffer(read)
          return outputs
        },
        end: (end) => protocol.end(end)
      })
    : outputDecoder(protocol)

const messageOf = (cause: Cause.Cause<DecodeFailure>): string =>
  Option.match(Cause.findErrorOption(cause), {
    onSome: ({ message }) => message,
    onNone: () => "The adapter could not decode the runtime's output."
  })
