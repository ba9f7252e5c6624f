/**
 * Messages of a chat: each is sent in the session of its chat or thread, and its turn is followed there.
 *
 * Guarantees: an event that is handled again repeats no step.
 * Does not: check permissions. The Hub does, when a message is sent and when it is delivered.
 */
import { Context, Effect, Layer } from "effect"
import type { SqlError } from "effect/sql"
import type { WorkLocation } from "../button/ButtonActions.ts"
import type { MessageFollower } from "../following/MessageFollower.ts"
import type { Follows } from "../following/Follows.ts"
import type { Hub, HubFailed } from "../hub/Hub.ts"
import type { NotSent, PlatformUnavailable } from "../platform/ChatPlatform.ts"
import {
  type ChatMessage,
  type ChatSession,
  ChatSessions,
  type ConversationKey,
  Conversations,
  threadKeyOf
} from "./Conversations.ts"
import { agentAt, mayWriteIn, readSession } from "./HubSessions.ts"
import { LocationPicker, WorkLocations, locationName, onlyLocation } from "./WorkLocations.ts"
import { discard, type OfflineQuestion, postpone, sendOrAsk, sendPending } from "./PendingMessages.ts"
import * as phrases from "../answer/Phrases.ts"
import type { Responder } from "../answer/Responder.ts"

type Failed = HubFailed | PlatformUnavailable | NotSent | SqlError.SqlError

type Services =
  | ChatSessions
  | Conversations
  | Follows
  | Hub
  | LocationPicker
  | MessageFollower
  | OfflineQuestion
  | WorkLocations

export class ChatMessages extends Context.Service<
  ChatMessages,
  {
    /** Sends a message to the agent. Asks for a location if several are possible, and before it waits for an offline machine. */
    readonly send: (
      key: ConversationKey,
      responder: Responder,
      message: ChatMessage
    ) => Effect.Effect<void, Failed>
    /** Sets the location of new sessions here, and sends the messages that wait for one. */
    readonly useLocation: (
      key: ConversationKey,
      responder: Responder,
      location: WorkLocation
    ) => Effect.Effect<void, Failed>
    /** Sends the messages that found their machine offline, to wait for it. */
    readonly queue: (key: ConversationKey, responder: Responder) => Effect.Effect<void, Failed>
    /** Drops the messages that wait for a choice. */
    readonly discard: (key: ConversationKey) => Effect.Effect<void, SqlError.SqlError>
    /** Ends the thread's use of its session: the next message starts another one. */
    readonly begin: (
      key: ConversationKey,
      responder: Responder,
      direct: boolean
    ) => Effect.Effect<void, Failed>
  }
>()("corral/gateway/ChatMessages") {
  static readonly layer = Layer.effect(
    ChatMessages,
    Effect.map(Effect.context<Services>(), (services) => {
      const provide = Effect.provide(services)
      return ChatMessages.of({
        send: (key, responder, message) => provide(send(key, responder, message)),
        useLocation: (key, responder, location) => provide(useLocation(key, responder, location)),
        queue: (key, responder) => provide(queue(key, responder)),
        discard: (key) => provide(discard(key)),
        begin: (key, responder, direct) => provide(begin(key, responder, direct))
      })
    })
  )
}

/** Whether the account may give the thread another session. In a direct chat it always may. */
const mayReplace = Effect.fn("ChatMessages.mayReplace")(function* (
  responder: Responder,
  { session }: ChatSession,
  direct: boolean
) {
  return direct || session === undefined || (yield* mayWriteIn(responder, session.projectId))
})

const send = Effect.fn("ChatMessages.send")(function* (
  key: ConversationKey,
  responder: Responder,
  message: ChatMessage
) {
  const conversations = yield* Conversations
  const chat = yield* (yield* ChatSessions).get(threadKeyOf(key))
  if (chat.session !== undefined && !message.fresh)
    return yield* sendOrAsk(key, responder, message, undefined)
  if (!(yield* mayReplace(responder, chat, message.direct)))
    return yield* responder.reply(phrases.foreignSession(message.direct))
  const place =
    chat.place ?? (yield* conversations.get(key.key)).place ?? (yield* conversations.get(key.chatKey)).place
  if (place !== undefined) return yield* sendOrAsk(key, responder, message, place)
  const locations = yield* (yield* WorkLocations).of(responder.account)
  if (locations.length === 0) return yield* responder.reply(phrases.noLocations)
  const only = onlyLocation(locations)
  if (only !== undefined) return yield* sendOrAsk(key, responder, message, only)
  if (yield* postpone(key, responder, message))
    yield* (yield* LocationPicker).show(key, responder, locations, phrases.whereTitle)
})

/** Moves the session of a thread to a location: to an agent there, or to a new session if it is in another project. */
const moveSession = Effect.fn("ChatMessages.moveSession")(function* (
  key: ConversationKey,
  responder: Responder,
  chat: ChatSession,
  location: WorkLocation
) {
  const sessions = yield* ChatSessions
  const threadKey = threadKeyOf(key)
  if (chat.session === undefined) return yield* sessions.set(threadKey, { place: location })
  const session = yield* readSession(responder, chat.session.id)
  if (session?.state !== "active" || session.projectId !== location.projectId)
    return yield* sessions.set(threadKey, { place: location })
  const { id } = yield* agentAt(responder, session, location, responder.key)
  yield* sessions.set(threadKey, { ...chat, agent: id, place: location })
})

const useLocation = Effect.fn("ChatMessages.useLocation")(function* (
  key: ConversationKey,
  responder: Responder,
  location: WorkLocation
) {
  const conversations = yield* Conversations
  const chat = yield* (yield* ChatSessions).get(threadKeyOf(key))
  if (chat.session !== undefined && !(yield* mayWriteIn(responder, chat.session.projectId)))
    return yield* responder.reply(phrases.foreignSession(key.key === key.chatKey))
  yield* moveSession(key, responder, chat, location)
  yield* responder.reply(phrases.locationSet(locationName(location)), "here")
  // Threads that begin later in this chat use the same location.
  for (const each of new Set([key.chatKey, key.key]))
    yield* conversations.set(each, { ...(yield* conversations.get(each)), place: location })
  yield* sendPending({ key, responder }, location, false)
})

const queue = Effect.fn("ChatMessages.queue")(function* (key: ConversationKey, responder: Responder) {
  const { place } = yield* (yield* ChatSessions).get(threadKeyOf(key))
  yield* sendPending({ key, responder }, place, true)
})

const begin = Effect.fn("ChatMessages.begin")(function* (
  key: ConversationKey,
  responder: Responder,
  direct: boolean
) {
  const sessions = yield* ChatSessions
  const threadKey = threadKeyOf(key)
  const chat = yield* sessions.get(threadKey)
  if (!(yield* mayReplace(responder, chat, direct)))
    return yield* responder.reply(phrases.foreignSession(direct))
  yield* sessions.set(threadKey, { place: chat.place })
  yield* responder.reply(phrases.newSession)
})
