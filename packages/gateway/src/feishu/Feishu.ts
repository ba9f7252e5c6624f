/**
 * Feishu, or Lark, as a chat platform: signed and encrypted webhooks or a long connection, and messages through the platform's library.
 */
import { Clock, Effect, Option, Schema, Semaphore } from "effect"
import {
  type ChatPlatform,
  type Destination,
  type Inbound,
  type LocalizedText,
  type MessageChange,
  type MessageContent,
  NotSent,
  PlatformId,
  PlatformUnavailable,
  type PlatformUser
} from "../platform/ChatPlatform.ts"
import {
  BotInfo,
  type FeishuCall,
  FeishuTenant,
  FeishuUser,
  SentMessage,
  makeFeishuCall,
  pathSegment
} from "./FeishuApi.ts"
import type { FeishuConfig } from "./FeishuConfig.ts"
import { makeLongConnection } from "./LongConnection.ts"
import { feishuFormValues, normalizeFeishuEvent } from "./Normalization.ts"
import { makeFeishuVerifier } from "./Verification.ts"
import { toFeishuCard } from "./FeishuCard.ts"

// Rate limiter per key: up to a number of calls per second. Later calls wait in order. A slot is free again a second after its call ended, so
// network delays do not matter.
//
// Does not: count the calls of other processes.

/** A second, with a margin for timers that fire early. */
const REST_MS = 1_010
/** Number of keys after which idle ones are deleted. */
const MAX_KEYS = 1_000

interface Slots {
  /** One permit per slot. */
  readonly permits: Semaphore.Semaphore
  /** The times at which the free slots are ready, earliest first. */
  readonly readyAt: Array<number>
  /** Calls that wait or are in progress. */
  calls: number
}

/** Runs a call of a key once the limit allows it. */
export type RateLimiter = (key: string) => <A, E, R>(call: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>

export const makeRateLimiter = (perSecond: number): RateLimiter => {
  const slotsByKey = new Map<string, Slots>()

  const deleteIdle = (now: number) => {
    for (const [key, { calls, readyAt }] of slotsByKey)
      if (calls === 0 && readyAt.every((at) => at <= now)) slotsByKey.delete(key)
  }

  const slotsOf = (key: string, now: number): Slots => {
    const existing = slotsByKey.get(key)
    if (existing !== undefined) return existing
    if (slotsByKey.size >= MAX_KEYS) deleteIdle(now)
    const permits = Semaphore.makeUnsafe(perSecond)
    const slots = { permits, readyAt: Array.from({ length: perSecond }, () => 0), calls: 0 }
    slotsByKey.set(key, slots)
    return slots
  }

  const sleepUntil = (at: number) =>
    Effect.flatMap(Clock.currentTimeMillis, (now) => (at > now ? Effect.sleep(at - now) : Effect.void))
  const returnSlot = (slots: Slots) =>
    Effect.map(Clock.currentTimeMillis, (now) => void slots.readyAt.push(now + REST_MS))

  return (key) => (call) =>
    Effect.gen(function* () {
      const slots = slotsOf(key, yield* Clock.currentTimeMillis)
      slots.calls += 1
      // A call takes the slot that is ready first, and returns it with the time when it is ready again.
      const limited = Effect.acquireUseRelease(
        Effect.sync(() => slots.readyAt.shift() ?? 0),
        (at) => Effect.andThen(sleepUntil(at), call),
        () => returnSlot(slots)
      )
      return yield* slots.permits
        .withPermit(limited)
        .pipe(Effect.ensuring(Effect.sync(() => void (slots.calls -= 1))))
    })
}

// Text that Feishu shows unchanged. Feishu has no escapes, so a zero-width space splits what it would read as a mention, a style or a link.

const ZERO_WIDTH_SPACE = "\u200b"

/** Content of a text message. Control characters except tab and line feed are removed: each would take six bytes. */
export const plainText = (text: string): string =>
  text
    .toWellFormed()
    .replaceAll(/[^\P{Cc}\t\n]/gu, "")
    .replaceAll(/<(?=[A-Za-z/])/g, `<${ZERO_WIDTH_SPACE}`)
    .replaceAll(/(?<![A-Za-z0-9.])@(?=\S)/g, `@${ZERO_WIDTH_SPACE}`)
    .replaceAll("](", `]${ZERO_WIDTH_SPACE}(`)

// Identities on Feishu: the open id of the bot, and the names of users. Names are for display only and identify no user.

const CACHE_MS = 5 * 60_000
const MAX_CACHED = 1_000

/** The bot's open id: configured, or requested once. */
const makeBotId = (
  call: FeishuCall,
  configuredId: string | undefined
): Effect.Effect<string, PlatformUnavailable> => {
  let id = configuredId
  const lock = Semaphore.makeUnsafe(1)
  const request = Effect.gen(function* () {
    if (id !== undefined) return id
    const { bot } = yield* call(BotInfo, (client) =>
      client.request({ method: "GET", url: "/open-apis/bot/v3/info" })
    )
    id = bot.open_id
    return id
  })
  return lock
    .withPermit(request)
    .pipe(
      Effect.mapError((failure) =>
        failure instanceof NotSent
          ? new PlatformUnavailable({ message: `The bot's id could not be read. ${failure.message}` })
          : failure
      )
    )
}

/** Lookup of users. Results are cached for five minutes, missing names too. */
const makeUserLookup = (call: FeishuCall): ((userId: string) => Effect.Effect<PlatformUser>) => {
  const cache = new Map<string, { readonly person: PlatformUser; readonly until: number }>()
  let tenantName: string | undefined

  const tenant = Effect.gen(function* () {
    tenantName ??= yield* call(FeishuTenant, (client) => client.tenant.v2.tenant.query({})).pipe(
      Effect.map(({ data }) => data.tenant.name),
      Effect.orElseSucceed(() => undefined)
    )
    return tenantName
  })
  const nameOf = (userId: string) =>
    call(FeishuUser, (client) =>
      client.contact.v3.user.get({
        path: { user_id: pathSegment(userId) },
        params: { user_id_type: "open_id" }
      })
    ).pipe(
      Effect.map(({ data }) => data.user.name),
      Effect.orElseSucceed(() => undefined)
    )

  return Effect.fn("Feishu.lookup")(function* (userId: string) {
    const now = yield* Clock.currentTimeMillis
    const cached = cache.get(userId)
    if (cached !== undefined && cached.until > now) return cached.person
    const [name, tenantOfBot] = yield* Effect.all([nameOf(userId), tenant], { concurrency: 2 })
    const person = {
      ...(name === undefined ? {} : { name }),
      ...(tenantOfBot === undefined ? {} : { tenantName: tenantOfBot })
    }
    cache.delete(userId)
    cache.set(userId, { person, until: now + CACHE_MS })
    // The oldest entry comes first.
    for (const oldest of cache.keys()) {
      if (cache.size <= MAX_CACHED) break
      cache.delete(oldest)
    }
    return person
  })
}

// Messages of the bot: new texts and cards, replies and updates, within the platform's rate limits.
//
// Guarantees: within an hour, a key is sent once, because the platform recognizes it. A reply stays in the thread (`omt_…`) of its message, and
// starts no thread.

/** The platform accepts texts of 150 KB. `textMax` characters are less in any script. */
const limits = { textMax: 30_000, perChat: 5, perMessage: 5, buttons: 20 }

/** Maximum number of direct chats in memory. */
const MAX_DIRECT_CHATS = 1_000

const makeOutbound = (
  call: FeishuCall,
  language: keyof LocalizedText
): Pick<ChatPlatform, "send" | "update"> => {
  const limitPerChat = makeRateLimiter(limits.perChat)
  const limitPerMessage = makeRateLimiter(limits.perMessage)
  /** Direct chats by user, so that a chat has one limit under both names. */
  const directChats = new Map<string, string>()
  const chatOf = (place: Destination): string =>
    place._tag === "Chat" ? place.chatId : (directChats.get(place.userId) ?? place.userId)
  const remember = (place: Destination, chatId: string) => {
    if (place._tag === "Chat") return
    directChats.delete(place.userId)
    directChats.set(place.userId, chatId)
    const [oldest] = directChats.keys()
    if (directChats.size > MAX_DIRECT_CHATS && oldest !== undefined) directChats.delete(oldest)
  }

  const bodyOf = (content: MessageContent, key: string) =>
    content._tag === "Text"
      ? { msg_type: "text", content: JSON.stringify({ text: plainText(content.text) }), uuid: key }
      : { msg_type: "interactive", content: JSON.stringify(toFeishuCard(content.card, language)), uuid: key }

  const sendMessage = (place: Destination, content: MessageContent, key: string) => {
    const body = bodyOf(content, key)
    return call(SentMessage, (client) => {
      const { create, reply } = client.im.v1.message
      if (place._tag === "Chat" && place.replyTo !== undefined)
        return reply({
          path: { message_id: pathSegment(place.replyTo) },
          data: { ...body, reply_in_thread: place.threadId?.startsWith("omt_") === true }
        })
      const [receive_id, receive_id_type] =
        place._tag === "Chat" ? ([place.chatId, "chat_id"] as const) : ([place.userId, "open_id"] as const)
      return create({ params: { receive_id_type }, data: { ...body, receive_id } })
    })
  }

  return {
    send: (place, content, key) =>
      sendMessage(place, content, key).pipe(
        (call) => Effect.suspend(() => limitPerChat(chatOf(place))(call)),
        Effect.map(({ data }) => {
          remember(place, data.chat_id)
          return { chatId: data.chat_id, messageId: data.message_id }
        })
      ),
    update: ({ messageId }, card) => {
      const content = JSON.stringify(toFeishuCard(card, language))
      const changed = call(Schema.Unknown, (client) =>
        client.im.v1.message.patch({ path: { message_id: pathSegment(messageId) }, data: { content } })
      )
      return changed.pipe(limitPerMessage(messageId), Effect.asVoid)
    }
  }
}

// Recalled messages of Feishu. The platform has no event for an edited message.

const Recalled = Schema.Struct({
  message_id: PlatformId,
  chat_id: PlatformId,
  /** Others than the author, such as the owner of a group, recall what a reader should not see. */
  recall_type: Schema.Literal("message_owner")
})

const asRecalled = Schema.decodeUnknownOption(Schema.fromJsonString(Recalled))

const feishuChangeOf = ({ body }: Pick<Inbound, "body">): MessageChange | undefined =>
  Option.match(asRecalled(body), {
    onNone: () => undefined,
    onSome: ({ chat_id, message_id }) => ({ chatId: chat_id, messageId: message_id, text: undefined })
  })

const ID = "feishu"

const TRY_AGAIN = "This could not be saved. Please click again."

const tryAgain = {
  status: 200,
  body: {
    toast: {
      type: "error",
      content: TRY_AGAIN,
      i18n: { en_us: TRY_AGAIN, zh_cn: "未能保存，请再点击一次。" }
    }
  }
}

const languageOf = (domain: string): keyof LocalizedText =>
  new URL(domain).hostname.endsWith(".feishu.cn") ? "zh" : "en"

/** The platform with one bot. */
export const feishu = (config: FeishuConfig): ChatPlatform => {
  const language = languageOf(config.domain)
  const call = makeFeishuCall(config)
  const botId = makeBotId(call, config.botId)
  return {
    id: ID,
    app: config.appId,
    verify: makeFeishuVerifier(ID, config),
    accepted: { status: 200, body: {} },
    unavailable: (kind) => (kind === "card_action" ? tryAgain : undefined),
    normalize: (inbound) => normalizeFeishuEvent(inbound, botId),
    changeOf: (inbound) => Effect.succeed(feishuChangeOf(inbound)),
    formValues: feishuFormValues,
    limits,
    recognizesKeys: true,
    language,
    ...makeOutbound(call, language),
    person: makeUserLookup(call),
    ...(config.connection === "long" ? { connect: makeLongConnection(ID, config, tryAgain) } : {})
  }
}
