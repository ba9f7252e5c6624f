/**
 * An account on a chat platform, and its binding to a person of the Hub. A Gateway names accounts; the Hub alone knows whose they are.
 */
import { Option, Schema } from "effect"
import { ChatBindingId } from "../identity/Ids.ts"
import { oneLine } from "../text/OneLine.ts"

/** An id of a platform's own making. */
const platformId = Schema.String.check(
  Schema.isPattern(/^[\x21-\x7e]{1,128}$/u, { expected: "an id of the platform" })
)

/** Account ids are unique only within one app and tenant. */
export const ChatAccount = Schema.Struct({
  platform: platformId,
  /** The platform's name for the bot. */
  app: platformId,
  tenant: platformId,
  account: platformId
}).annotate({ identifier: "ChatAccount" })
export type ChatAccount = typeof ChatAccount.Type

/** With a Gateway's token it says for whose account the Gateway asks: `platform/app/tenant/account`, each part percent-encoded. */
export const CHAT_ACCOUNT_HEADER = "x-corral-chat-account"

export const encodeChatAccount = ({ account, app, platform, tenant }: ChatAccount): string =>
  [platform, app, tenant, account].map(encodeURIComponent).join("/")

const isAccount = Schema.is(ChatAccount)

const decoded = (part: string): string => {
  try {
    return decodeURIComponent(part)
  } catch {
    return ""
  }
}

export const decodeChatAccount = (text: string): Option.Option<ChatAccount> => {
  const [platform, app, tenant, account, ...more] = text.split("/").map(decoded)
  const read = { platform, app, tenant, account }
  return more.length === 0 && isAccount(read) ? Option.some(read) : Option.none()
}

/** That an account acts as a person. */
export const ChatBinding = Schema.Struct({
  id: ChatBindingId,
  ...ChatAccount.fields,
  /** As the platform called the account when it was linked. */
  name: Schema.optionalKey(Schema.String),
  createdAt: Schema.String
}).annotate({ identifier: "ChatBinding" })
export type ChatBinding = typeof ChatBinding.Type

/** A link that was started in a chat, as its page shows it to the signed-in user. */
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

/** The code of a link's address: 256 random bits. The code allows reading the link. It links nothing without a confirmation. */
export const ChatLinkCode = Schema.Struct({
  code: Schema.String.check(Schema.isPattern(/^[A-Za-z0-9_-]{43}$/u, { expected: "the code of a link" }))
}).annotate({ identifier: "ChatLinkCode" })
export type ChatLinkCode = typeof ChatLinkCode.Type

/** What the person types into the chat: it shows that the browser and the account are the same person's. */
export const ConfirmedChatLink = Schema.Struct({
  number: Schema.String.check(Schema.isPattern(/^\d{6}$/u)),
  expiresAt: Schema.String
}).annotate({ identifier: "ConfirmedChatLink" })
export type ConfirmedChatLink = typeof ConfirmedChatLink.Type

/** POST /integrations/bindings. */
export const BindChatAccount = Schema.Struct({
  ...ChatAccount.fields,
  number: Schema.String.check(Schema.isPattern(/^\d{6}$/u, { expected: "six digits" }))
}).annotate({ identifier: "BindChatAccount" })
export type BindChatAccount = typeof BindChatAccount.Type

/** What the name of a platform's account may be: one line, for a person to read. */
export const chatName = oneLine(200)

/** Response of the Hub to an integration event. */
export const IntegrationReceipt = Schema.Struct({
  /** Whom the account acts as: of a message and of a click. */
  user: Schema.optionalKey(Schema.Struct({ id: Schema.String, name: Schema.String })),
  /** Where the account can be linked: of `identity.binding.required`. */
  link: Schema.optionalKey(Schema.Struct({ url: Schema.String, expiresAt: Schema.String }))
}).annotate({ identifier: "IntegrationReceipt" })
export type IntegrationReceipt = typeof IntegrationReceipt.Type
