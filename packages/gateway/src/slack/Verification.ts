/**
 * Verification of Slack's webhook requests: signature, age, app and workspace. Events are JSON; clicks are a form with one field.
 *
 * Guarantees: the signature is checked before the body is parsed. Only direct messages of users, mentions, their changes and clicks are
 * accepted. Other messages in a channel are not stored, although the app may receive them.
 */
import { Option, Redacted, Schema } from "effect"
import { createHash, createHmac } from "node:crypto"
import {
  decodeUtf8,
  type Inbound,
  parseJson,
  PlatformId,
  type PlatformRequest,
  type Verification
} from "../platform/ChatPlatform.ts"
import {
  BlockActions,
  EventCallback,
  Payload,
  SlackMessageEvent,
  SlackUrlVerification,
  cardRefOf
} from "./Payload.ts"
import { slackChange } from "./Normalization.ts"
import type { SlackConfig } from "./SlackConfig.ts"
import type { IncomingHttpHeaders } from "node:http"
import { isSameSecret } from "@corral/service/SecretComparison"

// Slack's signature: an HMAC of the unchanged timestamp and the bytes of the body, with the app's Signing Secret.
//
// Requests older than five minutes are refused, as in Slack's libraries. Slack retries immediately, after one minute and after five minutes, and
// signs each retry with its own time. Slack documents no replay window.

const TIMESTAMP = "x-slack-request-timestamp"
const SIGNATURE = "x-slack-signature"

const WINDOW_MS = 5 * 60_000

/** `timestamp`: Unix seconds. */
export const slackSignature = (timestamp: string, secret: string, body: Uint8Array): string =>
  `v0=${createHmac("sha256", secret).update(`v0:${timestamp}:`).update(body).digest("hex")}`

/**
 * Problem of a request's signature; undefined for a valid one. A repeated header has a comma in its value, so it is never valid.
 */
export const signatureProblem = (
  headers: IncomingHttpHeaders,
  secret: string,
  body: Uint8Array,
  now: number
): string | undefined => {
  const [timestamp, signature] = [headers[TIMESTAMP], headers[SIGNATURE]]
  if (typeof timestamp !== "string" || typeof signature !== "string") return "not signed"
  if (!/^\d{1,11}$/.test(timestamp)) return "without a time"
  if (!isSameSecret(signature, slackSignature(timestamp, secret, body))) return "wrong signature"
  return Math.abs(Number(timestamp) * 1_000 - now) > WINDOW_MS ? "too old, or in the future" : undefined
}

const asPayload = Schema.decodeUnknownOption(Payload)
const asUrlVerification = Schema.decodeUnknownOption(SlackUrlVerification)
const asCallback = Schema.decodeUnknownOption(EventCallback)
const asMessage = Schema.decodeUnknownOption(SlackMessageEvent)
const asClick = Schema.decodeUnknownOption(BlockActions)
const asPlatformId = Schema.decodeUnknownOption(PlatformId)

type Refused = Extract<Verification, { readonly _tag: "Refused" }>
const refused = (code: Refused["code"], reason: string): Refused => ({ _tag: "Refused", code, reason })

/** The stored fields that come from the payload. */
type EventFields = Pick<Inbound, "tenant" | "upstreamId" | "kind" | "chatId" | "senderId" | "cardId" | "body">

const contentOf = ({ body, kind }: PlatformRequest): unknown => {
  const text = decodeUtf8(body)
  if (kind === "events" || text === undefined) return parseJson(text)
  const payloads = new URLSearchParams(text).getAll("payload")
  return payloads.length === 1 ? parseJson(payloads[0]) : undefined
}

/** Subtypes of messages that users write. */
const writtenSubtypes = new Set(["file_share", "thread_broadcast"])

/**
 * Whether a message is for the bot. An app that subscribes to both receives a mention in a channel twice, under two ids: as a message,
 * which is ignored, and as a mention.
 */
const isForBot = ({ bot_id, channel_type, subtype, type }: typeof SlackMessageEvent.Type): boolean => {
  if (typeof subtype === "string" && !writtenSubtypes.has(subtype)) return false
  if (bot_id !== undefined && bot_id !== null) return false
  return type === "app_mention" || channel_type === "im"
}

const changeFields = (
  { event, event_id, team_id }: typeof EventCallback.Type,
  bot: string | undefined
): EventFields | undefined => {
  const change = slackChange(event, bot)
  return (
    change && {
      tenant: team_id,
      upstreamId: event_id,
      kind: "message_change",
      chatId: change.channel,
      senderId: change.user,
      cardId: "",
      body: JSON.stringify(change)
    }
  )
}

const messageFields = ({ event, event_id, team_id }: typeof EventCallback.Type): EventFields | undefined => {
  const message = Option.getOrUndefined(asMessage(event))
  if (message === undefined || !isForBot(message)) return undefined
  return {
    tenant: team_id,
    upstreamId: event_id,
    kind: "message",
    chatId: message.channel,
    senderId: Option.getOrElse(asPlatformId(message.user), () => ""),
    cardId: "",
    body: JSON.stringify(event)
  }
}

/** Id of a click, since Slack's payload has none. A second click has another `action_ts`, so another id. */
const clickId = (click: BlockActions): string => {
  const { chatId, messageId } = cardRefOf(click)
  const [{ action_id, action_ts }] = click.actions
  const identity = [click.team.id, chatId ?? "", messageId ?? "", click.user.id, action_ts, action_id]
  return `click-${createHash("sha256").update(JSON.stringify(identity)).digest("hex")}`
}

const clickFields = (click: BlockActions): EventFields => ({
  tenant: click.team.id,
  upstreamId: clickId(click),
  kind: "card_action",
  chatId: cardRefOf(click).chatId ?? "",
  senderId: click.user.id,
  cardId: cardRefOf(click).messageId ?? "",
  body: JSON.stringify(click)
})

/** A verifier for one app. Never throws. */
export const makeSlackVerifier = (platform: string, config: SlackConfig) => {
  const secret = Redacted.value(config.signingSecret)
  const teams = new Set(config.teams)

  /** `event` is undefined for a verified event that the Gateway does not use. */
  const accept = (
    request: PlatformRequest,
    tenant: string,
    event: EventFields | undefined,
    type: string
  ): Verification => {
    if (teams.size > 0 && !teams.has(tenant)) return refused("permission_denied", "another team")
    if (event === undefined) return { _tag: "Ignored", eventType: type }
    return {
      _tag: "Accepted",
      inbound: { platform, app: config.appId, receivedAt: request.receivedAt, ...event }
    }
  }

  return (request: PlatformRequest): Verification => {
    const problem = signatureProblem(request.headers, secret, request.body, request.receivedAt)
    if (problem !== undefined) return refused("unauthorized", problem)
    const content = contentOf(request)

    const verification = request.kind === "events" ? asUrlVerification(content) : Option.none()
    if (Option.isSome(verification))
      return { _tag: "Challenge", answer: { status: 200, body: { challenge: verification.value.challenge } } }

    const payload = asPayload(content)
    if (Option.isNone(payload)) return refused("schema_validation_failed", "no event")
    const { api_app_id, type } = payload.value
    if (api_app_id !== config.appId) return refused("permission_denied", "another app")
    if (request.kind === "events" && type === "event_callback") {
      const callback = asCallback(content)
      return Option.isNone(callback)
        ? refused("schema_validation_failed", "no event")
        : accept(
            request,
            callback.value.team_id,
            messageFields(callback.value) ?? changeFields(callback.value, config.botUserId),
            type
          )
    }
    if (request.kind === "card-actions" && type === "block_actions") {
      const click = asClick(content)
      return Option.isNone(click)
        ? refused("schema_validation_failed", "no click")
        : accept(request, click.value.team.id, clickFields(click.value), type)
    }
    return { _tag: "Ignored", eventType: type }
  }
}
