/**
 * Chat accounts on a platform, their bindings to users of the Hub, and the updates of these bindings, made by the Hub for the Gateway of an
 * account: `identity.binding.updated`. A Gateway names accounts. Only the Hub knows their users, and an update names none.
 *
 * An update says the state at its time. A reader that missed some receives the newest one of each binding. It can come more than once, with the
 * same `key`.
 */
import { ChatBindingId, EventId } from "../identity/Ids.ts"
import { Language } from "../preference/Preferences.ts"
import { PAYLOAD_VERSION } from "../run/RunEvent.ts"
import { oneLine } from "../text/Text.ts"
import { Option, Schema } from "effect"

/** An id that the chat platform assigned. */
const platformId = Schema.String.check(
  Schema.isPattern(/^[\x21-\x7e]{1,128}$/u, { expected: "an id of the platform" })
)

/** An account on a chat platform. Account ids are unique only within one app and tenant. */
export const ChatAccount = Schema.Struct({
  platform: platformId,
  /** The platform's id of the bot. */
  app: platformId,
  tenant: platformId,
  account: platformId
}).annotate({ identifier: "ChatAccount" })
export type ChatAccount = typeof ChatAccount.Type

/** Request header of a Gateway with the account that it acts for: `platform/app/tenant/account`, each part percent-encoded. */
export const CHAT_ACCOUNT_HEADER = "x-corral-chat-account"

/** Value of `CHAT_ACCOUNT_HEADER` for an account. */
export const encodeChatAccount = ({ account, app, platform, tenant }: ChatAccount): string =>
  [platform, app, tenant, account].map(encodeURIComponent).join("/")

const isAccount = Schema.is(ChatAccount)

const decodePart = (part: string): string => {
  try {
    return decodeURIComponent(part)
  } catch {
    return ""
  }
}

/** The account in a value of `CHAT_ACCOUNT_HEADER`; none if the value is invalid. */
export const decodeChatAccount = (text: string): Option.Option<ChatAccount> => {
  const [platform, app, tenant, account, ...more] = text.split("/").map(decodePart)
  const decoded = { platform, app, tenant, account }
  return more.length === 0 && isAccount(decoded) ? Option.some(decoded) : Option.none()
}

/** Binding of a chat account to the user that the account acts as. */
export const ChatBinding = Schema.Struct({
  id: ChatBindingId,
  ...ChatAccount.fields,
  /** Display name of the account when it was linked. */
  name: Schema.optionalKey(Schema.String),
  createdAt: Schema.String
}).annotate({ identifier: "ChatBinding" })
export type ChatBinding = typeof ChatBinding.Type

/** A requested binding, as its page shows it to the signed-in user. */
export const ChatLink = Schema.Struct({
  /** `open`: not confirmed. `confirmed`: the user types the number in the chat. `linked`: the account is linked. */
  state: Schema.Literals(["open", "confirmed", "linked"]),
  platform: Schema.String,
  tenant: Schema.String,
  account: Schema.String,
  name: Schema.optionalKey(Schema.String),
  tenantName: Schema.optionalKey(Schema.String),
  requestedAt: Schema.String,
  expiresAt: Schema.String
}).annotate({ identifier: "ChatLink" })
export type ChatLink = typeof ChatLink.Type

/** Code in the address of a requested binding: 256 random bits. It allows reading the request; linking requires a confirmation. */
export const ChatLinkCode = Schema.Struct({
  code: Schema.String.check(Schema.isPattern(/^[A-Za-z0-9_-]{43}$/u, { expected: "the code of a link" }))
}).annotate({ identifier: "ChatLinkCode" })
export type ChatLinkCode = typeof ChatLinkCode.Type

/** Number of six digits that the user types in the chat. It proves that browser and account belong to the same user. */
export const ConfirmedChatLink = Schema.Struct({
  number: Schema.String.check(Schema.isPattern(/^\d{6}$/u)),
  expiresAt: Schema.String
}).annotate({ identifier: "ConfirmedChatLink" })
export type ConfirmedChatLink = typeof ConfirmedChatLink.Type

/** Body of POST /integrations/bindings. */
export const BindChatAccount = Schema.Struct({
  ...ChatAccount.fields,
  number: Schema.String.check(Schema.isPattern(/^\d{6}$/u, { expected: "six digits" }))
}).annotate({ identifier: "BindChatAccount" })
export type BindChatAccount = typeof BindChatAccount.Type

/** Display name of an account: one line of at most 200 characters. */
export const chatName = oneLine(200)

/** Response of the Hub to an integration event. */
export const IntegrationReceipt = Schema.Struct({
  /** The user that the account acts as, with the language that the user prefers. For messages and card actions. */
  user: Schema.optionalKey(
    Schema.Struct({ id: Schema.String, name: Schema.String, language: Schema.optionalKey(Language) })
  ),
  /** Page where the account can be linked. For `identity.binding.required`. */
  link: Schema.optionalKey(Schema.Struct({ url: Schema.String, expiresAt: Schema.String }))
}).annotate({ identifier: "IntegrationReceipt" })
export type IntegrationReceipt = typeof IntegrationReceipt.Type

/** `suspended`: the user has not signed in for too long. The account acts again after the next sign-in, which is an update to `linked`. */
export const BindingState = Schema.Literals(["linked", "unlinked", "suspended"])
export type BindingState = typeof BindingState.Type

/** Update of the binding of a chat account, by the Hub for the Gateway of that account. */
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
