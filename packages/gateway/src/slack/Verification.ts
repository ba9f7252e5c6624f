/**
 * Whether a request is Slack's, for this app, of this moment, and what it holds. The order is the point: nothing is parsed or believed before
 * the signature over the bytes was checked.
 *
 * Events are JSON, clicks are a form with one field. Only what a bot hears is accepted: direct messages of
 * people, mentions, clicks. Other messages in a channel are not stored, although the app may receive them.
 */
import { Option, Redacted, Schema } from "effect"
import { createHash } from "node:crypto"
import type { Inbound, PlatformRequest, Verification } from "../platform/ChatPlatform.ts"
import { parseJson, decodeUtf8 } from "../platform/JsonBytes.ts"
import { PlatformId } from "../platform/PlatformId.ts"
import {
  BlockActions,
  EventCallback,
  Payload,
  cardRefOf,
  SlackMessageEvent,
  SlackUrlVerification
} from "./Payload.ts"
import { faultOf } from "./Signature.ts"
import type { SlackConfig } from "./SlackConfig.ts"

const asPayload = Schema.decodeUnknownOption(Payload)
const asTrial = Schema.decodeUnknownOption(SlackUrlVerification)
const asCallback = Schema.decodeUnknownOption(EventCallback)
const asSaid = Schema.decodeUnknownOption(SlackMessageEvent)
const asClick = Schema.decodeUnknownOption(BlockActions)
const asPlatformId = Schema.decodeUnknownOption(PlatformId)

type Refused = Extract<Verification, { readonly _tag: "Refused" }>
const refused = (code: Refused["code"], reason: string): Refused => ({ _tag: "Refused", code, reason })

/** What is verified of an event beside its request. */
type Kept = Pick<Inbound, "tenant" | "upstreamId" | "kind" | "chatId" | "senderId" | "cardId" | "body">

const contentOf = ({ body, kind }: PlatformRequest): unknown => {
  const text = decodeUtf8(body)
  if (kind === "events" || text === undefined) return parseJson(text)
  const payloads = new URLSearchParams(text).getAll("payload")
  return payloads.length === 1 ? parseJson(payloads[0]) : undefined
}

/** What people say has one of these subtypes or none; every other one is something that was done to messages. */
const saying = new Set(["file_share", "thread_broadcast"])

/**
 * A mention in a channel comes as a message and as a mention, under two ids, where an app has subscribed to both: there it counts as a
 * mention alone.
 */
const isHeard = ({ bot_id, channel_type, subtype, type }: typeof SlackMessageEvent.Type): boolean => {
  if (typeof subtype === "string" && !saying.has(subtype)) return false
  if (bot_id !== undefined && bot_id !== null) return false
  return type === "app_mention" || channel_type === "im"
}

const ofEvent = ({ event, event_id, team_id }: typeof EventCallback.Type): Kept | undefined => {
  const said = Option.getOrUndefined(asSaid(event))
  if (said === undefined || !isHeard(said)) return undefined
  return {
    tenant: team_id,
    upstreamId: event_id,
    kind: "message",
    chatId: said.channel,
    senderId: Option.getOrElse(asPlatformId(said.user), () => ""),
    cardId: "",
    body: JSON.stringify(event)
  }
}

/** Slack names no event: the same click has the same id, and a second one, however soon, has another `action_ts`. */
const clickId = (click: BlockActions): string => {
  const { chatId, messageId } = cardRefOf(click)
  const [{ action_id, action_ts }] = click.actions
  const named = [click.team.id, chatId ?? "", messageId ?? "", click.user.id, action_ts, action_id]
  return `click-${createHash("sha256").update(JSON.stringify(named)).digest("hex")}`
}

const ofClick = (click: BlockActions): Kept => ({
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

  /** `event` is undefined for what was understood, and is of no use. */
  const judged = (
    request: PlatformRequest,
    tenant: string,
    event: Kept | undefined,
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
    const fault = faultOf(request.headers, secret, request.body, request.receivedAt)
    if (fault !== undefined) return refused("unauthorized", fault)
    const content = contentOf(request)

    const trial = request.kind === "events" ? asTrial(content) : Option.none()
    if (Option.isSome(trial))
      return { _tag: "Challenge", answer: { status: 200, body: { challenge: trial.value.challenge } } }

    const payload = asPayload(content)
    if (Option.isNone(payload)) return refused("schema_validation_failed", "no event")
    const { api_app_id, type } = payload.value
    if (api_app_id !== config.appId) return refused("permission_denied", "another app")
    if (request.kind === "events" && type === "event_callback") {
      const callback = asCallback(content)
      return Option.isNone(callback)
        ? refused("schema_validation_failed", "no event")
        : judged(request, callback.value.team_id, ofEvent(callback.value), type)
    }
    if (request.kind === "card-actions" && type === "block_actions") {
      const click = asClick(content)
      return Option.isNone(click)
        ? refused("schema_validation_failed", "no click")
        : judged(request, click.value.team.id, ofClick(click.value), type)
    }
    return { _tag: "Ignored", eventType: type }
  }
}
