/**
 * What Slack's events say in our words: a message that is meant for the bot, or a click on one of its cards.
 *
 * In a channel that two organizations share, people of the other one write too. Ids of people are worth something only beside their own
 * workspace, and an event names the bot's: so people of another workspace are not heard.
 */
import type { IntegrationDraft } from "@corral/domain/chat/Integration"
import { draft, type PayloadOf } from "@corral/domain/run/RunEvent"
import { Effect, Schema } from "effect"
import { type Inbound, NotUnderstood, type PlatformUnavailable } from "../platform/ChatPlatform.ts"
import { PlatformId } from "../platform/PlatformId.ts"
import { plainOf } from "./Markup.ts"
import { BlockActions, cardRefOf } from "./Payload.ts"

type Attachment = NonNullable<PayloadOf<"integration.message.received">["attachments"]>[number]

const optionalText = Schema.optionalKey(Schema.NullOr(Schema.String))

const Message = Schema.Struct({
  type: Schema.String,
  user: PlatformId,
  channel: PlatformId,
  ts: PlatformId,
  thread_ts: Schema.optionalKey(Schema.NullOr(PlatformId)),
  text: optionalText,
  team: optionalText,
  user_team: optionalText,
  source_team: optionalText,
  files: Schema.optionalKey(
    Schema.NullOr(Schema.Array(Schema.Struct({ id: PlatformId, name: optionalText, mimetype: optionalText })))
  )
})
type Message = typeof Message.Type

const asMessage = Schema.decodeUnknownEffect(Schema.fromJsonString(Message))
const asClick = Schema.decodeUnknownEffect(Schema.fromJsonString(BlockActions))
const isPlatformId = Schema.is(PlatformId)

const notUnderstood = () => new NotUnderstood({ message: "The event is not shaped as its type says." })

const named = ({ app, platform, tenant, upstreamId }: Inbound) => ({
  platform,
  app,
  tenant,
  upstreamEventId: upstreamId
})

/** Text that every store keeps. */
const storable = (text: string): string => text.replaceAll("\0", "").toWellFormed()

const attachmentOf = ({ id, mimetype, name }: NonNullable<Message["files"]>[number]): Attachment => {
  const [major = ""] = (mimetype ?? "").split("/", 1)
  const kind = major === "image" || major === "audio" ? major : "file"
  return { kind, key: id, ...(typeof name === "string" ? { name: storable(name) } : {}) }
}

const isOf = (tenant: string, teams: ReadonlyArray<string | null | undefined>): boolean =>
  teams.every((team) => team === undefined || team === null || team === tenant)

const message = Effect.fnUntraced(function* (
  inbound: Inbound,
  botId: Effect.Effect<string, PlatformUnavailable>
) {
  const said = yield* Effect.mapError(asMessage(inbound.body), notUnderstood)
  if (!isOf(inbound.tenant, [said.team, said.user_team, said.source_team])) return undefined
  const direct = said.type === "message"
  // Who mentions the bot names it in the text, and it is no part of what was meant. In a direct chat it only tidies the text.
  const bot = yield* direct ? Effect.orElseSucceed(botId, () => undefined) : botId
  if (said.user === bot) return undefined
  const attachments = (said.files ?? []).map(attachmentOf)
  return draft("integration.message.received", {
    ...named(inbound),
    chatId: said.channel,
    chatType: direct ? "direct" : "group",
    ...(typeof said.thread_ts === "string" ? { threadId: said.thread_ts, rootId: said.thread_ts } : {}),
    messageId: said.ts,
    senderId: said.user,
    text: storable(plainOf(said.text ?? "", bot)),
    ...(attachments.length === 0 ? {} : { attachments })
  })
})

const cardAction = Effect.fnUntraced(function* (inbound: Inbound) {
  const click = yield* Effect.mapError(asClick(inbound.body), notUnderstood)
  if (!isOf(inbound.tenant, [click.user.team_id])) return undefined
  const [{ value }] = click.actions
  // A button that opens an address says so too, and has no value.
  if (!isPlatformId(value)) return undefined
  const { chatId, messageId } = cardRefOf(click)
  return draft("integration.card.action", {
    ...named(inbound),
    ...(chatId === undefined ? {} : { chatId }),
    ...(messageId === undefined ? {} : { messageId }),
    actionId: value,
    operatorId: click.user.id
  })
})

/** `botId` is who is mentioned where the bot is. */
export const normalizeSlackEvent = (
  inbound: Inbound,
  botId: Effect.Effect<string, PlatformUnavailable>
): Effect.Effect<IntegrationDraft | undefined, NotUnderstood | PlatformUnavailable> =>
  inbound.kind === "message" ? message(inbound, botId) : cardAction(inbound)
