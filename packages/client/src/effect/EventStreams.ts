/** Event streams as Effect's streams: the iterators of `stream/`, ended with their scope. */
import { decodeReceivedEvent } from "@corral/domain/run/RunEvent"
import { Cause, Effect, Stream } from "effect"
import type { Transport } from "../http/Transport.ts"
import {
  runEventBatches,
  type RunEventOptions,
  type RunEventSource,
  type RunPosition
} from "../stream/RunEvents.ts"
import { type StreamFailure, toClientFailure } from "./ClientFailure.ts"
import { type ServiceAccess, transportOf } from "./EffectCalls.ts"

/** Options without the signal: the scope of the stream ends it. */
export type Following<Options> = Omit<Options, "signal">

/** Stream of an iterator over groups. The iterator ends when the stream does. */
export const streamOfBatches = <A>(
  open: (signal: AbortSignal) => AsyncIterator<ReadonlyArray<A>>
): Stream.Stream<A, StreamFailure> =>
  Stream.unwrap(
    Effect.gen(function* () {
      const stop = new AbortController()
      const batches = open(stop.signal)
      yield* Effect.addFinalizer(() =>
        Effect.sync(() => {
          stop.abort()
          // A read that was in progress fails by the signal.
          void batches.return?.().catch(() => undefined)
        })
      )
      const next = Effect.tryPromise({ try: () => batches.next(), catch: toStreamFailure })
      const pull = Effect.flatMap(next, ({ done, value }) => {
        if (done === true) return Cause.done()
        const [first, ...rest] = value
        return first === undefined
          ? Effect.die("an empty group of events")
          : Effect.succeed([first, ...rest] as const)
      })
      return Stream.fromPull(Effect.succeed(pull))
    })
  )

// Codes that no stream has cannot come from its endpoints.
const toStreamFailure = (error: unknown): StreamFailure => toClientFailure(error) as StreamFailure

/** Stream with the headers of the address, which are read when it starts. */
export const streamAt = <A>(
  address: ServiceAccess,
  open: (transport: Transport, signal: AbortSignal) => AsyncIterator<ReadonlyArray<A>>
): Stream.Stream<A, StreamFailure> =>
  Stream.unwrap(
    Effect.map(address.headers ?? Effect.succeed({}), (headers) =>
      streamOfBatches((signal) => open(transportOf(address, headers), signal))
    )
  )

/** Events of one run, decoded with the whole schemas. */
export const runEventStream = <Run extends RunPosition>(
  address: ServiceAccess,
  source: (transport: Transport) => RunEventSource<Run>,
  options: Following<RunEventOptions<Run>> = {}
) =>
  streamAt(address, (transport, signal) =>
    runEventBatches(source(transport), decodeReceivedEvent, { ...options, signal })
  )
