/** Client of a Hub with Effect: all endpoints of its contract, and its event streams. */
import type { ChangeHint } from "@corral/domain/hub-api/ChangeHint"
import { HubApi } from "@corral/domain/hub-api/HubApi"
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import type { SessionId } from "@corral/domain/identity/Ids"
import type { SequencedEvent } from "@corral/domain/run/EventSequence"
import { decodeReceivedEvent } from "@corral/domain/run/RunEvent"
import { Context, Effect, Layer, type Stream } from "effect"
import { hubChanges, hubEventSource, hubSocketSource } from "../Hub.ts"
import { socketEventBatches } from "../stream/EventSockets.ts"
import type { ReconnectionOptions } from "../stream/Reconnection.ts"
import type { RunEventOptions } from "../stream/RunEvents.ts"
import type { StreamFailure } from "./ClientFailure.ts"
import { type EffectCalls, effectCalls, type ServiceAccess } from "./EffectCalls.ts"
import { type Following, runEventStream, streamAt } from "./EventStreams.ts"

export interface HubEffectStreams {
  /** Events of one run, to its end. */
  readonly runEvents: (
    id: HubRun["id"],
    options?: Following<RunEventOptions<HubRun>>
  ) => Stream.Stream<SequencedEvent, StreamFailure>
  /** Events of all runs of a session, stored ones first. */
  readonly sessionEvents: (
    id: SessionId,
    options?: Following<ReconnectionOptions>
  ) => Stream.Stream<SequencedEvent, StreamFailure>
  /** Hints about changed devices, approvals, tasks and runs. */
  readonly changes: (options?: Following<ReconnectionOptions>) => Stream.Stream<ChangeHint, StreamFailure>
}

export const hubStreams = (address: ServiceAccess): HubEffectStreams => ({
  runEvents: (id, options) => runEventStream(address, (transport) => hubEventSource(transport, id), options),
  sessionEvents: (id, options = {}) =>
    streamAt(address, (transport, signal) =>
      socketEventBatches(hubSocketSource(transport, id), decodeReceivedEvent, { ...options, signal })
    ),
  changes: (options = {}) =>
    streamAt(address, (transport, signal) => hubChanges(transport, { ...options, signal }))
})

export class HubEffects extends Context.Service<
  HubEffects,
  Omit<EffectCalls<typeof HubApi>, "news"> & HubEffectStreams
>()("corral/client/HubEffects") {
  static readonly make = (address: ServiceAccess) =>
    Effect.map(effectCalls(HubApi, address), (calls) => HubEffects.of({ ...calls, ...hubStreams(address) }))

  static readonly layer = (address: ServiceAccess) => Layer.effect(HubEffects, HubEffects.make(address))
}
