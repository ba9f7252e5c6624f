/** Client of an Edge with Effect: all endpoints of its contract, and its event streams. */
import { EdgeApi } from "@corral/domain/edge-api/EdgeApi"
import { decodeReceivedEvent } from "@corral/domain/run/RunEvent"
import type { Run } from "@corral/domain/run/Run"
import type { SequencedEvent } from "@corral/domain/run/EventSequence"
import { Context, Effect, Layer, type Stream } from "effect"
import { edgeEventSource, edgeSocketSource } from "../Edge.ts"
import { socketEventBatches } from "../stream/EventSockets.ts"
import type { ReconnectionOptions } from "../stream/Reconnection.ts"
import type { RunEventOptions } from "../stream/RunEvents.ts"
import type { StreamFailure } from "./ClientFailure.ts"
import { type EffectCalls, effectCalls, type ServiceAccess } from "./EffectCalls.ts"
import { type Following, runEventStream, streamAt } from "./EventStreams.ts"

export interface EdgeEffectStreams {
  /** Events of one run, to its end. */
  readonly runEvents: (
    id: Run["id"],
    options?: Following<RunEventOptions<Run>>
  ) => Stream.Stream<SequencedEvent, StreamFailure>
  /** Events of all runs, stored ones first. */
  readonly allEvents: (
    options?: Following<ReconnectionOptions>
  ) => Stream.Stream<SequencedEvent, StreamFailure>
}

export const edgeStreams = (address: ServiceAccess): EdgeEffectStreams => ({
  runEvents: (id, options) => runEventStream(address, (transport) => edgeEventSource(transport, id), options),
  allEvents: (options = {}) =>
    streamAt(address, (transport, signal) =>
      socketEventBatches(edgeSocketSource(transport), decodeReceivedEvent, { ...options, signal })
    )
})

export class EdgeEffects extends Context.Service<
  EdgeEffects,
  EffectCalls<typeof EdgeApi> & EdgeEffectStreams
>()("corral/client/EdgeEffects") {
  static readonly make = (address: ServiceAccess) =>
    Effect.map(effectCalls(EdgeApi, address), (calls) =>
      EdgeEffects.of({ ...calls, ...edgeStreams(address) })
    )

  static readonly layer = (address: ServiceAccess) => Layer.effect(EdgeEffects, EdgeEffects.make(address))
}
