/**
 * Stream transformer from the stdout of one run to the outputs of its adapter. The run actor and `corral normalize` decode with it.
 *
 * Guarantees: one Stream operator per read, not per line. Reads are pulled only when the outputs before them were consumed.
 */
import type {
  AdapterOutput,
  AnyProtocol,
  AnyRuntimeAdapter,
  DecodeFailure,
  OutputDecoder,
  ProcessEnd,
  RunStart,
  StepDecoder
} from "@corral/domain/run/RuntimeAdapter"
import { Array as Arr, Cause, Effect, Pull, Stream } from "effect"

/** Decoder of a protocol: its own Stream transformer, or one built from its synchronous steps. */
export const outputDecoder = (protocol: AnyProtocol): OutputDecoder =>
  protocol.decode === undefined ? fromSteps(protocol) : (stdout, exit) => protocol.decode(stdout, exit)

/**
 * Stream transformer from synchronous steps. It fails only as `stdout` and `exit` do. Its effects are built once per run: a read allocates
 * none, and an idle run holds few.
 */
export const fromSteps =
  (decoder: StepDecoder): OutputDecoder =>
  (stdout, exit) =>
    Stream.transformPull(stdout, (pull) => Effect.sync(() => outputsOf(decoder, pull, exit)))

type Outputs<E, R> = Pull.Pull<Arr.NonEmptyReadonlyArray<AdapterOutput>, E, void, R>

/** Pulls reads until one gives an output. After the last read it gives the outputs of the process's end. */
const outputsOf = <E, R>(
  decoder: StepDecoder,
  pull: Pull.Pull<Arr.NonEmptyReadonlyArray<Uint8Array>, E, void, R>,
  exit: Effect.Effect<ProcessEnd, E, R>
): Outputs<E, R> => {
  let hasEnded = false
  const atEnd: Outputs<E, R> = Effect.flatMap(exit, (end) => {
    hasEnded = true
    const outputs = decoder.end(end)
    return Arr.isReadonlyArrayNonEmpty(outputs) ? Effect.succeed(outputs) : Cause.done()
  })
  const next: Outputs<E, R> = Effect.flatMap(pull, (reads): Outputs<E, R> => {
    const outputs = reads.length === 1 ? decoder.step(reads[0]) : reads.flatMap((read) => decoder.step(read))
    return Arr.isReadonlyArrayNonEmpty(outputs) ? Effect.succeed(outputs) : next
  })
  return Pull.catchDone(next, () => (hasEnded ? Cause.done() : atEnd))
}

/** Default for a recording without the end of its process. */
const successfulEnd: ProcessEnd = { code: 0, signal: null, stderr: "" }

/**
 * Decodes one run with a new protocol of `adapter`. Text for the runtime's stdin comes as `Reply` outputs. It fails only as `stdout` does, or
 * with the protocol's `DecodeFailure`.
 */
export const decodeRun =
  (adapter: AnyRuntimeAdapter, start: RunStart, end: ProcessEnd = successfulEnd) =>
  <E, R>(stdout: Stream.Stream<Uint8Array, E, R>): Stream.Stream<AdapterOutput, E | DecodeFailure, R> =>
    Stream.suspend(() => outputDecoder(adapter.protocol(start))(stdout, Effect.succeed(end)))
