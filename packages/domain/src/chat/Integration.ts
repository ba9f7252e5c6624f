/**
 * What a Gateway tells the Hub of a chat: normalized events, without a word of the platform's own.
 *
 * The envelope is that of every event but for the run, which no message has yet. `seq` is dense from 1 for one chat. `key` is derived from
 * the platform's event: who acts on one key once acts on one event once, however often it is delivered.
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
  /** 1 to 255 printable characters: an idempotency key. */
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

/** What an integration event says, without its envelope. */
export type IntegrationDraft = {
  readonly [T in IntegrationType]: { readonly type: T; readonly payload: PayloadOf<T> }
}[IntegrationType]
