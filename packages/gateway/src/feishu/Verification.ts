/**
 * Verification of Feishu's webhook requests: origin, bot, tenant and age. Also the conversion of its envelopes to stored events, for webhooks and long
 * connections.
 *
 * Guarantees: a signature is checked before the body is decrypted or parsed. With an Encrypt Key, only signed and encrypted events are
 * accepted. A URL verification may be unsigned, because encrypting it requires the key. Without an Encrypt Key, the Verification Token is
 * checked. Without a token, every request is refused.
 */
import { isSameSecret } from "@corral/service/SecretComparison"
import { Option, Redacted, Schema } from "effect"
import { createDecipheriv, createHash } from "node:crypto"
import type { IncomingHttpHeaders } from "node:http"
import {
  type Inbound,
  type InboundKind,
  PlatformId,
  type PlatformRequest,
  type Verification,
  decodeUtf8,
  parseJson
} from "../platform/ChatPlatform.ts"
import type { FeishuConfig } from "./FeishuConfig.ts"

// Envelope of Feishu's events: the fields that the inbox needs. Other fields stay unchanged.

const Encrypted = Schema.Struct({ encrypt: Schema.String })

const FeishuUrlVerification = Schema.Struct({
  type: Schema.Literal("url_verification"),
  token: Schema.String,
  challenge: Schema.String.check(Schema.isMaxLength(4_096))
})

export const FeishuEnvelope = Schema.Struct({
  schema: Schema.Literal("2.0"),
  header: Schema.Struct({
    event_id: PlatformId,
    event_type: PlatformId,
    create_time: Schema.optionalKey(Schema.String),
    /** May be absent over a long connection. */
    token: Schema.optionalKey(Schema.String),
    app_id: Schema.String,
    tenant_key: PlatformId
  }),
  event: Schema.Record(Schema.String, Schema.Unknown)
})
export type FeishuEnvelope = typeof FeishuEnvelope.Type

const field = (value: unknown, name: string): unknown =>
  typeof value === "object" && value !== null
    ? Object.getOwnPropertyDescriptor(value, name)?.value
    : undefined

const isPlatformId = Schema.decodeUnknownOption(PlatformId)

/** A valid platform id, or "". */
const idOf = (value: unknown): string => Option.getOrElse(isPlatformId(value), () => "")

/** Id of the chat of a message, a recall or a click; "" if the event has no valid id. */
const chatOf = (event: FeishuEnvelope["event"]): string =>
  idOf(
    field(field(event, "message"), "chat_id") ??
      field(event, "chat_id") ??
      field(field(event, "context"), "open_chat_id")
  )

/** Open id of the account that wrote or clicked; "" if the event has no valid id. */
const senderOf = (event: FeishuEnvelope["event"]): string =>
  idOf(
    field(field(field(event, "sender"), "sender_id"), "open_id") ?? field(field(event, "operator"), "open_id")
  )

/** Id of the message whose button was clicked; "" if the event has no valid id. */
const cardIdOf = (event: FeishuEnvelope["event"]): string =>
  idOf(field(field(event, "context"), "open_message_id"))

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

// Parser of Feishu's times. The signed header is Unix seconds with events, and Go's time format with card callbacks. `create_time` is
// milliseconds with events, and microseconds with callbacks.

const goTime =
  /^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)(?:\.(\d{1,9}))? ([+-]\d\d)(\d\d)(?: [\w+-]{1,10})?(?: m=[+-][\d.]{1,30})?$/

/** Unix milliseconds of a signed header; undefined for invalid text. */
export const headerMillis = (text: string): number | undefined => {
  if (/^\d{1,11}$/.test(text)) return Number(text) * 1_000
  const found = goTime.exec(text)
  if (found === null) return undefined
  const [, day = "", time = "", fraction = "", hours = "", minutes = ""] = found
  const millis = Date.parse(`${day}T${time}.${fraction.slice(0, 3).padEnd(3, "0")}${hours}:${minutes}`)
  return Number.isNaN(millis) ? undefined : millis
}

/** Unix milliseconds of a `create_time`; undefined for invalid text. */
export const createdMillis = (text: string): number | undefined => {
  if (!/^\d{10,16}$/.test(text)) return undefined
  const value = Number(text)
  return text.length > 13 ? Math.floor(value / 1_000) : value
}

// Decryption of Feishu's bodies: base64 of an initialization vector and AES-256-CBC under the hash of the Encrypt Key.

const IV_BYTES = 16

/** The decrypted bytes; undefined for invalid input. Never throws. */
export const decrypt = (encrypted: string, key: string): Buffer | undefined => {
  const bytes = Buffer.from(encrypted, "base64")
  if (bytes.length < 2 * IV_BYTES || bytes.length % IV_BYTES !== 0) return undefined
  const hashed = createHash("sha256").update(key, "utf8").digest()
  try {
    const decipher = createDecipheriv("aes-256-cbc", hashed, bytes.subarray(0, IV_BYTES))
    return Buffer.concat([decipher.update(bytes.subarray(IV_BYTES)), decipher.final()])
  } catch {
    return undefined
  }
}

// Feishu's signature: a hash of the unchanged headers, the Encrypt Key and the bytes of the body.

const TIMESTAMP = "x-lark-request-timestamp"
const NONCE = "x-lark-request-nonce"
const SIGNATURE = "x-lark-signature"

/** Whether a request has a signature. A URL verification may have none. */
const hasSignature = (headers: IncomingHttpHeaders): boolean => headers[SIGNATURE] !== undefined

/** The signed timestamp, unchanged. */
const timestampOf = (headers: IncomingHttpHeaders): string => headerOf(headers, TIMESTAMP)

/** Header values are hashed as Latin-1, which is how Node reads them. */
const feishuSignature = (timestamp: string, nonce: string, key: string, body: Uint8Array): string =>
  createHash("sha256")
    .update(Buffer.from(timestamp + nonce, "latin1"))
    .update(key, "utf8")
    .update(body)
    .digest("hex")

const isSignatureValid = (headers: IncomingHttpHeaders, key: string, body: Uint8Array): boolean =>
  isSameSecret(
    headerOf(headers, SIGNATURE),
    feishuSignature(headerOf(headers, TIMESTAMP), headerOf(headers, NONCE), key, body)
  )

const headerOf = (headers: IncomingHttpHeaders, name: string): string => {
  const value = headers[name]
  return typeof value === "string" ? value : ""
}

/** Tolerance for clocks that differ. */
const CLOCK_SKEW_MS = 5 * 60_000
/**
 * Maximum age. The platform retries a message for 7.1 hours, perhaps with the time of the first attempt. The inbox recognizes a repeated
 * message for a week. A click is not retried.
 */
const MAX_AGE_MS: Readonly<Record<InboundKind, number>> = {
  message: 8 * 3_600_000,
  message_change: 8 * 3_600_000,
  card_action: 5 * 60_000
}

const asEncrypted = Schema.decodeUnknownOption(Encrypted)
const asUrlVerification = Schema.decodeUnknownOption(FeishuUrlVerification)
const asEnvelope = Schema.decodeUnknownOption(FeishuEnvelope)

const refused = (code: Refused["code"], reason: string): Refused => ({ _tag: "Refused", code, reason })
const isRefused = (value: unknown): value is Refused =>
  typeof value === "object" && value !== null && "_tag" in value && value._tag === "Refused"

interface DecodedBody {
  readonly content: unknown
  /** Whether the request has a valid signature. */
  readonly signed: boolean
}

/** The content of a body, after the signature is checked. */
const decodeBody = ({ body, headers }: PlatformRequest, key: string | undefined): DecodedBody | Refused => {
  if (key === undefined) {
    const content = parseJson(decodeUtf8(body))
    return content === undefined ? refused("schema_validation_failed", "no JSON") : { content, signed: false }
  }
  const signed = hasSignature(headers)
  if (signed && !isSignatureValid(headers, key, body)) return refused("unauthorized", "wrong signature")
  const invalid = (reason: string) => refused(signed ? "schema_validation_failed" : "unauthorized", reason)
  const encrypted = asEncrypted(parseJson(decodeUtf8(body)))
  if (Option.isNone(encrypted)) return invalid("not encrypted")
  const bytes = decrypt(encrypted.value.encrypt, key)
  const content = bytes === undefined ? undefined : parseJson(decodeUtf8(bytes))
  return content === undefined ? invalid("cannot be decrypted") : { content, signed }
}

const isInTime = (millis: number | undefined, maxAge: number, now: number): boolean =>
  millis !== undefined && millis >= now - maxAge && millis <= now + CLOCK_SKEW_MS

const sentAt = (headers: IncomingHttpHeaders, created: string | undefined, signed: boolean) =>
  signed ? headerMillis(timestampOf(headers)) : createdMillis(created ?? "")

/** A verifier for one bot. Never throws. */
export const makeFeishuVerifier = (platform: string, config: FeishuConfig) => {
  const key = config.encryptKey === undefined ? undefined : Redacted.value(config.encryptKey)
  const token = config.verificationToken === undefined ? undefined : Redacted.value(config.verificationToken)
  const checkOrigin = makeOriginCheck(config)

  return (request: PlatformRequest): Verification => {
    if (token === undefined) return refused("unauthorized", "the bot has no verification token")
    const decoded = decodeBody(request, key)
    if (isRefused(decoded)) return decoded
    const { content, signed } = decoded

    const verification = asUrlVerification(content)
    if (Option.isSome(verification)) {
      if (!isSameSecret(verification.value.token, token)) return refused("unauthorized", "wrong token")
      return { _tag: "Challenge", answer: { status: 200, body: { challenge: verification.value.challenge } } }
    }
    if (key !== undefined && !signed) return refused("unauthorized", "not signed")

    const envelope = asEnvelope(content)
    if (Option.isNone(envelope)) return refused("schema_validation_failed", "no event")
    const { header } = envelope.value
    if (!isSameSecret(header.token ?? "", token)) return refused("unauthorized", "wrong token")
    const foreign = checkOrigin(envelope.value)
    if (foreign !== undefined) return foreign
    const kind = inboundKindOf(envelope.value)
    const at = sentAt(request.headers, header.create_time, signed)
    if (!isInTime(at, MAX_AGE_MS[kind ?? "message"], request.receivedAt))
      return refused("unauthorized", "too old, or without a time")
    if (kind === undefined) return { _tag: "Ignored", eventType: header.event_type }
    return { _tag: "Accepted", inbound: inboundOf(platform, kind, envelope.value, request.receivedAt) }
  }
}
