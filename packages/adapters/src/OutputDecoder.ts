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
import { Array as Arr, Effect, type Pull, Stream } from "effect"

/** The decoder of a protocol: its own Stream transformer, or one built from its synchronous steps. */
export const outputDecoder = (protocol: AnyProtocol): OutputDecoder =>
  protocol.decode === undefined ? fromSteps(protocol) : (stdout, exit) => protocol.decode(stdout, exit)

/** A Stream transformer of synchronous steps. */
export const fromSteps =
  (decoder: StepDecoder): OutputDecoder =>
  (stdout, exit) =>
    Stream.concat(
      Stream.transformPull(stdout, (pull) => Effect.succeed(pullOutputs(pull, decoder))),
      Stream.flatMap(Stream.fromEffect(exit), (end) => Stream.fromIterable(decoder.end(end)))
    )

/** Pulls reads until they give an output. */
const pullOutputs = <E, R>(
  pull: Pull.Pull<Arr.NonEmptyReadonlyArray<Uint8Array>, E, void, R>,
  decoder: StepDecoder
): Pull.Pull<Arr.NonEmptyReadonlyArray<AdapterOutput>, E, void, R> => {
  const next: Pull.Pull<Arr.NonEmptyReadonlyArray<AdapterOutput>, E, void, R> = Effect.flatMap(
    pull,
    (reads) => {
      const outputs =
        reads.length === 1 ? decoder.step(reads[0]) : reads.flatMap((read) => decoder.step(read))
      return Arr.isReadonlyArrayNonEmpty(outputs) ? Effect.succeed(outputs) : next
    }
  )
  return next
}

/** The end of a process that is not known: stdout has ended, without an error. */
const unknownEnd: ProcessEnd = { code: 0, signal: null, stderr: "" }

/** Decodes one run with a new conversation of `adapter`. What must go back to stdin comes as `Reply` outputs. */
export const decodeRun =
  (adapter: AnyRuntimeAdapter, start: RunStart, end: ProcessEnd = unknownEnd) =>
  <E, R>(stdout: Stream.Stream<Uint8Array, E, R>): Stream.Stream<AdapterOutput, E | DecodeFailure, R> =>
    Stream.suspend(() => outputDecoder(adapter.protocol(start))(stdout, Effect.succeed(end)))
