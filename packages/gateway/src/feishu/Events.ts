/** Which of the platform's events are for this bot, however they came, and what is kept of them. */
import type { Inbound, InboundKind, Verification } from "../platform/ChatPlatform.ts"
import { cardIdOf, chatOf, type FeishuEnvelope, senderOf } from "./Envelope.ts"
import type { FeishuConfig } from "./FeishuConfig.ts"

const kinds: Readonly<Record<string, InboundKind>> = {
  "im.message.receive_v1": "message",
  "card.action.trigger": "card_action"
}

/** Undefined: a type of event that we know no use for. */
export const inboundKindOf = ({ header }: FeishuEnvelope): InboundKind | undefined =>
  Object.hasOwn(kinds, header.event_type) ? kinds[header.event_type] : undefined

type Refused = Extract<Verification, { readonly _tag: "Refused" }>

/** Tells an event of another app, or of a tenant that is not served. */
export const makeOriginCheck = ({ appId, tenants }: Pick<FeishuConfig, "appId" | "tenants">) => {
  const served = new Set(tenants)
  const stranger = (reason: string): Refused => ({ _tag: "Refused", code: "permission_denied", reason })
  return ({ header }: FeishuEnvelope): Refused | undefined => {
    if (header.app_id !== appId) return stranger("another app")
    return served.size > 0 && !served.has(header.tenant_key) ? stranger("another tenant") : undefined
  }
}

/** What is kept of an event for this bot. */
export const inboundOf = (
  platform: string,
  kind: InboundKind,
  { event, header }: FeishuEnvelope,
  receivedAt: number
): Inbound => ({
  platform,
  app: header.app_id,
  tenant: header.tenant_key,
  upstreamId: header.event_id,
  kind,
  chatId: chatOf(event),
  senderId: senderOf(event),
  cardId: kind === "card_action" ? cardIdOf(event) : "",
  body: JSON.stringify(event),
  receivedAt
})
