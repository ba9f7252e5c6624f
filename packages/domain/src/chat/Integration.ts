/**
 * Integration events: chat messages and card actions that a Gateway sends to the Hub, in one format for all platforms.
 *
 * The envelope is that of a run event without a run. `seq` is dense from 1 for each chat. `key` is derived from the platform's event. A
 * reader that processes each key once processes each event once, even if the platform delivers the event again.
 */
import { Schema } from "effect"
import { EventId } from "../identity/Ids.ts"
import { Envelope, PAYLOAD_VERSION, payloads, type PayloadOf } from "../run/RunEvent.ts"

export const integrationTypes = [
  "integration.message.received",
  "integration.card.action",
  "identity.binding.required"
] as const
export type IntegrationType = (typeof integrationTypes)[number]

const envelope = <const T extends IntegrationType>(type: T) => ({
  id: EventId,
  seq: Envelope.fields.seq,
  type: Schema.Literal(type),
  /** Idempotency key: 1 to 255 printable characters. */
  key: Schema.String.check(Schema.isPattern(/^[\x20-\x7e]{1,255}$/u)),
  createdAt: Schema.String
})

const v = Schema.Literal(PAYLOAD_VERSION)

export const MessageReceived = Schema.Struct({
  ...envelope("integration.message.received"),
  payload: Schema.Struct({ v, ...payloads["integration.message.received"] })
}).annotate({ identifier: "MessageReceived" })
export type MessageReceived = typeof MessageReceived.Type

export const CardAction = Schema.Struct({
  ...envelope("integration.card.action"),
  payload: Schema.Struct({ v, ...payloads["integration.card.action"] })
}).annotate({ identifier: "CardAction" })
export type CardAction = typeof CardAction.Type

export const BindingRequiredEvent = Schema.Struct({
  ...envelope("identity.binding.required"),
  payload: Schema.Struct({ v, ...payloads["identity.binding.required"] })
}).annotate({ identifier: "BindingRequired" })
export type BindingRequiredEvent = typeof BindingRequiredEvent.Type

export const IntegrationEvent = Schema.Union([MessageReceived, CardAction, BindingRequiredEvent])
export type IntegrationEvent = typeof IntegrationEvent.Type

/** Type and payload of an integration event, without its envelope. */
export type IntegrationDraft = {
  readonly [T in IntegrationType]: { readonly type: T; readonly payload: PayloadOf<T> }
}[IntegrationType]
