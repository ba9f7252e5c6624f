/** Conversion of Feishu's envelopes to stored events, for webhooks and long connections. */
import type { Inbound, InboundKind, Verification } from "../platform/ChatPlatform.ts"
import { cardIdOf, chatOf, type FeishuEnvelope, senderOf } from "./Envelope.ts"
import type { FeishuConfig } from "./FeishuConfig.ts"

const kinds: Readonly<Record<string, InboundKind>> = {
  "im.message.receive_v1": "message",
  "im.message.recalled_v1": "message_change",
  "card.action.trigger": "card_action"
}

/** Undefined for a type of event that the Gateway does not use. */
export const inboundKindOf = ({ header }: FeishuEnvelope): InboundKind | undefined =>
  Object.hasOwn(kinds, header.event_type) ? kinds[header.event_type] : undefined

type Refused = Extract<Verification, { readonly _tag: "Refused" }>

/** Check that an event belongs to this app and to a served tenant. It returns the refusal, if any. */
export const makeOriginCheck = ({ appId, tenants }: Pick<FeishuConfig, "appId" | "tenants">) => {
  const served = new Set(tenants)
  const refuse = (reason: string): Refused => ({ _tag: "Refused", code: "permission_denied", reason })
  return ({ header }: FeishuEnvelope): Refused | undefined => {
    if (header.app_id !== appId) return refuse("another app")
    return served.size > 0 && !served.has(header.tenant_key) ? refuse("another tenant") : undefined
  }
}

/** The event as the inbox stores it. */
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
