/**
 * An adapter as a Stream transformer: bytes of stdout in, outputs out, and the outputs of the end when the bytes are over.
 */
import { Effect, Stream } from "effect"
import type { AdapterOutput, ProcessEnd, RunStart, RuntimeAdapter } from "@corral/domain/run/RuntimeAdapter"

/** What stdout's end tells by itself: nothing of the process. */
const stdoutEnded: ProcessEnd = { code: 0, signal: null, stderr: "" }

/**
 * One run's stdout through an adapter. `exit` is asked once the bytes are over; without it the process counts as ended with code 0.
 * Each run of the stream is its own conversation; what must go back to stdin comes as `Reply` outputs.
 */
export const normalize =
  <E2 = never, R2 = never>(
    adapter: RuntimeAdapter,
    start: RunStart,
    exit: Effect.Effect<ProcessEnd, E2, R2> = Effect.succeed(stdoutEnded)
  ) =>
  <E, R>(bytes: Stream.Stream<Uint8Array, E, R>): Stream.Stream<AdapterOutput, E | E2, R | R2> =>
    Stream.suspend(() => {
      const protocol = adapter.protocol(start)
      const said = bytes.pipe(Stream.flatMap((chunk) => Stream.fromIterable(protocol.step(chunk))))
      const rest = Stream.fromEffect(exit).pipe(
        Stream.flatMap((end) => Stream.fromIterable(protocol.end(end)))
      )
      return Stream.concat(said, rest)
    })
