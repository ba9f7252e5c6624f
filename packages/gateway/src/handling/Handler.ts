/**
 * Handler of normalized events, and failures of services as its failures: whether a retry may help. It may be called again for a handled event,
 * which has the same `event.key`.
 */
import type { IntegrationDraft, IntegrationEvent } from "@corral/domain/chat/Integration"
import { encodeUlid, type EventId } from "@corral/domain/identity/Ids"
import { PAYLOAD_VERSION } from "@corral/domain/run/RunEvent"
import { Data, type Effect } from "effect"
import type { SqlError } from "effect/sql"
import { createHash } from "node:crypto"
import type { HubFailed } from "../hub/Hub.ts"
import type { Inbound, NotSent, PlatformUnavailable } from "../platform/ChatPlatform.ts"

/** `permanent`: a retry does not help. The message is logged and stored with the dead letter, so it contains nothing of the event. */
export class HandlerFailed extends Data.TaggedError("HandlerFailed")<{
  readonly message: string
  readonly permanent: boolean
  /** An earlier retry cannot help. */
  readonly retryAfterMs?: number | undefined
}> {}

/** `inbound` is sent only to its platform, which may need it for an answer. */
export type Handler = (event: IntegrationEvent, inbound: Inbound) => Effect.Effect<void, HandlerFailed>

export type ServiceFailed = HubFailed | NotSent | PlatformUnavailable | SqlError.SqlError

/** Failures of services as failures of a handler: whether a retry may help. */
export const handlerFailureOf = (error: HandlerFailed | ServiceFailed): HandlerFailed => {
  switch (error._tag) {
    case "HandlerFailed":
      return error
    case "SqlError":
      return new HandlerFailed({ message: "The store is unavailable.", permanent: false })
    case "HubRefused":
      return new HandlerFailed({ message: `The Hub refused the call: ${error.code}.`, permanent: true })
    case "NotSent":
      return new HandlerFailed({ message: error.message, permanent: true })
    case "HubUnavailable":
    case "PlatformUnavailable":
      return new HandlerFailed({
        message: error.message,
        permanent: false,
        retryAfterMs: error.retryAfterMs
      })
  }
}

/** The idempotency key of an event. */
export const eventKeyOf = ({ platform, upstreamId }: Pick<Inbound, "platform" | "upstreamId">): string =>
  `${platform}:${upstreamId}`

/**
 * Event from a draft. The id and the key are derived from the platform's id, so every attempt has the same. `seq` is the position of the event in its
 * chat.
 */
export const stampEvent = (draft: IntegrationDraft, inbound: Inbound, seq: number): IntegrationEvent => {
  const { app, platform, receivedAt, upstreamId } = inbound
  const hash = createHash("sha256").update(`${platform} ${app} ${upstreamId}`).digest()
  return {
    id: `evt_${encodeUlid(receivedAt, hash.subarray(0, 10))}` as EventId,
    seq,
    type: draft.type,
    key: eventKeyOf(inbound),
    createdAt: new Date(receivedAt).toISOString(),
    payload: { v: PAYLOAD_VERSION, ...draft.payload }
    // The draft ties its payload to its type; TypeScript does not follow the union through the spread.
  } as IntegrationEvent
}
