/**
 * Updates of the binding of a chat account, made by the Hub for the Gateway of that account: `identity.binding.updated`. They name no user.
 *
 * An update says the state at its time. A reader that missed some receives the newest one of each binding. It can come more than once, with the
 * same `key`.
 */
import { Schema } from "effect"
import { ChatBindingId, EventId } from "../identity/Ids.ts"
import { PAYLOAD_VERSION } from "../run/RunEvent.ts"
import { ChatAccount } from "./ChatAccount.ts"

/** `suspended`: the user has not signed in for too long. The account acts again after the next sign-in, which is an update to `linked`. */
export const BindingState = Schema.Literals(["linked", "unlinked", "suspended"])
export type BindingState = typeof BindingState.Type

export const BindingUpdated = Schema.Struct({
  id: EventId,
  type: Schema.Literal("identity.binding.updated"),
  /** Idempotency key. */
  key: Schema.String,
  createdAt: Schema.String,
  payload: Schema.Struct({ v: Schema.Literal(PAYLOAD_VERSION), account: ChatAccount, state: BindingState })
}).annotate({ identifier: "BindingUpdated" })
export type BindingUpdated = typeof BindingUpdated.Type

/** Updates of one answer. */
export const MAX_BINDING_UPDATES = 100

/** A binding in a state that the Gateway has received. */
const DeliveredUpdate = Schema.Struct({ bindingId: ChatBindingId, state: BindingState })

/** Body of POST /integrations/bindings/updates: the bot, and what its Gateway has received. */
export const NextBindingUpdates = Schema.Struct({
  platform: ChatAccount.fields.platform,
  app: ChatAccount.fields.app,
  delivered: Schema.Array(DeliveredUpdate).check(Schema.isMaxLength(MAX_BINDING_UPDATES))
}).annotate({ identifier: "NextBindingUpdates" })
export type NextBindingUpdates = typeof NextBindingUpdates.Type

/** Updates that the Gateway has not received, oldest first. */
export const BindingUpdates = Schema.Struct({
  items: Schema.Array(Schema.Struct({ bindingId: ChatBindingId, event: BindingUpdated }))
}).annotate({ identifier: "BindingUpdates" })
export type BindingUpdates = typeof BindingUpdates.Type
