/** Events from drafts. The id and the key are derived from the platform's id, so every attempt has the same. */
import { type EventId, encodeUlid } from "@corral/domain/identity/Ids"
import type { IntegrationDraft, IntegrationEvent } from "@corral/domain/chat/Integration"
import { PAYLOAD_VERSION } from "@corral/domain/run/RunEvent"
import { createHash } from "node:crypto"
import type { Inbound } from "../platform/ChatPlatform.ts"

/** The idempotency key of an event. */
export const eventKeyOf = ({ platform, upstreamId }: Pick<Inbound, "platform" | "upstreamId">): string =>
  `${platform}:${upstreamId}`

/** `seq` is the position of the event in its chat. */
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
