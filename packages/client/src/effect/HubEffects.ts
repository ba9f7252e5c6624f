/** Client of a Hub with Effect: all endpoints of its contract, and its event streams. */
import type { ChangeHint } from "@corral/domain/hub-api/ChangeHint"
import { HubApi } from "@corral/domain/hub-api/HubApi"
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import type { SessionId } from "@corral/domain/identity/Ids"
import type { SequencedEvent } from "@corral/domain/run/EventSequence"
import { Attachment } from "@corral/domain/session/Attachment"
import { decodeReceivedEvent } from "@corral/domain/run/RunEvent"
import { Context, Effect, Layer, Schema, type Stream } from "effect"
import { hubChanges, hubEventSource, hubSocketSource } from "../Hub.ts"
import { pathOf } from "../http/Endpoints.ts"
import { hubPaths } from "../hubPaths.ts"
import { socketEventBatches } from "../stream/EventSockets.ts"
import type { ReconnectionOptions } from "../stream/Reconnection.ts"
import type { RunEventOptions } from "../stream/RunEvents.ts"
import { type CallFailure, type StreamFailure, toClientFailure } from "./ClientFailure.ts"
import { type EffectCalls, effectCalls, type ServiceAccess, transportOf } from "./EffectCalls.ts"
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

type HubCalls = EffectCalls<typeof HubApi>
type UploadFailure = CallFailure<{ readonly code: UploadCode }>
type UploadCode = "conflict" | "idempotency_conflict" | "idempotency_in_flight" | "permission_denied"

export interface HubEffectUploads {
  /** Uploads a file for a message. The media type is that of the `Blob`: Node has `openAsBlob(path, { type })`. */
  readonly create: (request: {
    readonly query: { readonly name: string }
    readonly headers?: { readonly "idempotency-key"?: string }
    readonly payload: Blob
  }) => Effect.Effect<Attachment, UploadFailure>
  readonly content: HubCalls["uploads"]["content"]
}

const decodeAttachment = Schema.decodeUnknownPromise(Attachment)

// Effect's client has one media type for all bodies of an endpoint.
const uploadFile =
  (address: ServiceAccess): HubEffectUploads["create"] =>
  ({ headers = {}, payload, query }) =>
    Effect.flatMap(address.headers ?? Effect.succeed({}), (more) =>
      Effect.tryPromise({
        try: async (signal) => {
          const [method, path] = hubPaths.uploads.create
          const request = { method, path: pathOf(path, { query }), headers: { ...headers }, payload, signal }
          const response = await transportOf(address, more).send(request)
          return decodeAttachment(await response.json())
        },
        // Codes that the endpoint does not have cannot come from it.
        catch: (error) => toClientFailure(error) as UploadFailure
      })
    )

export class HubEffects extends Context.Service<
  HubEffects,
  Omit<HubCalls, "news" | "uploads"> & HubEffectStreams & { readonly uploads: HubEffectUploads }
>()("corral/client/HubEffects") {
  static readonly make = (address: ServiceAccess) =>
    Effect.map(effectCalls(HubApi, address), (calls) => {
      const uploads = { ...calls.uploads, create: uploadFile(address) }
      return HubEffects.of({ ...calls, ...hubStreams(address), uploads })
    })

  static readonly layer = (address: ServiceAccess) => Layer.effect(HubEffects, HubEffects.make(address))
}
