/**
 * Whether a request is Feishu's, for this bot, of this day, and what it holds. The order is the point: nothing is decrypted, parsed or
 * believed before what can be checked of it was checked.
 *
 * With an Encrypt Key only signed, encrypted bodies count; the trial of the address may come without a signature, because only who has the
 * key can encrypt it. Without one the Verification Token is all there is; a bot that has no token takes nothing here.
 */
import { Option, Redacted, Schema } from "effect"
import type { IncomingHttpHeaders } from "node:http"
import type { InboundKind, PlatformRequest, Verification } from "../platform/ChatPlatform.ts"
import { decrypt } from "./Encryption.ts"
import { parseJson, decodeUtf8 } from "../platform/JsonBytes.ts"
import { Encrypted, FeishuEnvelope, FeishuUrlVerification } from "./Envelope.ts"
import { inboundOf, inboundKindOf, makeOriginCheck } from "./Events.ts"
import type { FeishuConfig } from "./FeishuConfig.ts"
import { claimsSignature, isSigned, same, timestampOf } from "./Signature.ts"
import { createdMillis, headerMillis } from "./Timestamp.ts"

/** Clocks differ by so much. */
const AHEAD_MS = 5 * 60_000
/**
 * The platform tries an event again for 7.1 hours, perhaps with the time of its first try; what was taken once is known for a week, so an
 * old one that comes again is not done again. A click is tried once.
 */
const OLD_MS: Readonly<Record<InboundKind, number>> = { message: 8 * 3_600_000, card_action: 5 * 60_000 }

const asEncrypted = Schema.decodeUnknownOption(Encrypted)
const asTrial = Schema.decodeUnknownOption(FeishuUrlVerification)
const asEnvelope = Schema.decodeUnknownOption(FeishuEnvelope)

type Refused = Extract<Verification, { readonly _tag: "Refused" }>

const refused = (code: Refused["code"], reason: string): Refused => ({ _tag: "Refused", code, reason })
const isRefused = (value: unknown): value is Refused =>
  typeof value === "object" && value !== null && "_tag" in value && value._tag === "Refused"

interface Opened {
  readonly content: unknown
  /** Whether a signature vouches for it. */
  readonly signed: boolean
}

/** What a body holds, once it may be looked at. */
const open = ({ body, headers }: PlatformRequest, key: string | undefined): Opened | Refused => {
  if (key === undefined) {
    const content = parseJson(decodeUtf8(body))
    return content === undefined ? refused("schema_validation_failed", "no JSON") : { content, signed: false }
  }
  const signed = claimsSignature(headers)
  if (signed && !isSigned(headers, key, body)) return refused("unauthorized", "wrong signature")
  const unusable = (reason: string) => refused(signed ? "schema_validation_failed" : "unauthorized", reason)
  const encrypted = asEncrypted(parseJson(decodeUtf8(body)))
  if (Option.isNone(encrypted)) return unusable("not encrypted")
  const bytes = decrypt(encrypted.value.encrypt, key)
  const content = bytes === undefined ? undefined : parseJson(decodeUtf8(bytes))
  return content === undefined ? unusable("cannot be decrypted") : { content, signed }
}

const isTimely = (millis: number | undefined, oldest: number, now: number): boolean =>
  millis !== undefined && millis >= now - oldest && millis <= now + AHEAD_MS

const sentAt = (headers: IncomingHttpHeaders, created: string | undefined, signed: boolean) =>
  signed ? headerMillis(timestampOf(headers)) : createdMillis(created ?? "")

/** A verifier for one bot. Never throws. */
export const makeFeishuVerifier = (platform: string, config: FeishuConfig) => {
  const key = config.encryptKey === undefined ? undefined : Redacted.value(config.encryptKey)
  const token = config.verificationToken === undefined ? undefined : Redacted.value(config.verificationToken)
  const strangerOf = makeOriginCheck(config)

  return (request: PlatformRequest): Verification => {
    if (token === undefined) return refused("unauthorized", "the bot has no verification token")
    const opened = open(request, key)
    if (isRefused(opened)) return opened
    const { content, signed } = opened

    const trial = asTrial(content)
    if (Option.isSome(trial)) {
      if (!same(trial.value.token, token)) return refused("unauthorized", "wrong token")
      return { _tag: "Challenge", answer: { status: 200, body: { challenge: trial.value.challenge } } }
    }
    if (key !== undefined && !signed) return refused("unauthorized", "not signed")

    const envelope = asEnvelope(content)
    if (Option.isNone(envelope)) return refused("schema_validation_failed", "no event")
    const { header } = envelope.value
    if (!same(header.token ?? "", token)) return refused("unauthorized", "wrong token")
    const stranger = strangerOf(envelope.value)
    if (stranger !== undefined) return stranger
    const kind = inboundKindOf(envelope.value)
    const at = sentAt(request.headers, header.create_time, signed)
    if (!isTimely(at, OLD_MS[kind ?? "message"], request.receivedAt))
      return refused("unauthorized", "too old, or of no time")
    if (kind === undefined) return { _tag: "Ignored", eventType: header.event_type }
    return { _tag: "Accepted", inbound: inboundOf(platform, kind, envelope.value, request.receivedAt) }
  }
}
