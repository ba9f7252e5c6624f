/**
 * Sending of messages that may wait for a choice of their author: where the agent works, or whether they wait for an offline machine.
 *
 * Guarantees: messages that wait keep their order, and a second attempt sends none of them twice.
 */
import { Effect } from "effect"
import type { SqlError } from "effect/sql"
import type { WorkLocation } from "../button/ButtonMeaning.ts"
import type { MessageFollower } from "../following/MessageFollower.ts"
import type { Follows } from "../following/Follows.ts"
import type { Hub } from "../hub/Hub.ts"
import type { HubFailed } from "../hub/HubFailures.ts"
import type { PlatformUnavailable } from "../platform/ChatPlatform.ts"
import { type ChatSession, ChatSessions } from "./ChatSessions.ts"
import {
  type ChatMessage,
  type ConversationKey,
  Conversations,
  MAX_PENDING_MESSAGES,
  threadKeyOf
} from "./Conversations.ts"
import { createSession } from "./HubSessions.ts"
import { OfflineQuestion } from "./OfflineQuestion.ts"
import * as phrases from "../answer/Phrases.ts"
import type { Responder } from "../answer/Responder.ts"
import { answered, type Sending, sendInSession } from "./SessionSending.ts"

type Failed = HubFailed | PlatformUnavailable | SqlError.SqlError

/** Sends a message in the session of its thread, or in a new one at the location. */
const attempt = Effect.fn("PendingMessages.attempt")(function* (
  key: ConversationKey,
  responder: Responder,
  message: ChatMessage,
  place: WorkLocation | undefined,
  queue: boolean
): Effect.fn.Return<Sending, Failed, ChatSessions | Follows | Hub | MessageFollower> {
  const sessions = yield* ChatSessions
  const threadKey = threadKeyOf(key)
  let chat = yield* sessions.get(threadKey)
  if (chat.session === undefined || message.fresh) {
    if (place === undefined) return yield* answered(responder.reply(phrases.noLocations))
    const id = yield* createSession(responder, place, message)
    const created: ChatSession = { session: { id, projectId: place.projectId }, place }
    if (message.fresh) yield* sessions.set(threadKey, created)
    // Another user may have started the thread's session meanwhile.
    chat = message.fresh ? created : yield* sessions.claim(threadKey, created)
  }
  yield* sessions.touch(threadKey)
  return yield* sendInSession(key, responder, message, chat, queue)
})

/** Keeps a message until its author has chosen. */
export const postpone = Effect.fn("PendingMessages.postpone")(function* (
  { key }: ConversationKey,
  { reply }: Responder,
  message: ChatMessage
) {
  const conversations = yield* Conversations
  const { pending = [], place } = yield* conversations.get(key)
  if (pending.some((each) => each.key === message.key)) return true
  if (pending.length >= MAX_PENDING_MESSAGES) return yield* Effect.as(reply(phrases.tooManyPending), false)
  yield* conversations.set(key, { place, pending: [...pending, message] })
  return true
})

/** Sends a message, or asks whether it waits for its offline machine. */
export const sendOrAsk = Effect.fn("PendingMessages.sendOrAsk")(function* (
  key: ConversationKey,
  responder: Responder,
  message: ChatMessage,
  place: WorkLocation | undefined
) {
  if ((yield* attempt(key, responder, message, place, false)) === "done") return
  // Its session exists now.
  if (yield* postpone(key, responder, { ...message, fresh: false }))
    yield* (yield* OfflineQuestion).show(key, responder)
})

/** Sends the messages that wait, in their order. They are removed when all are sent, so that a retry sends every one. */
export const sendPending = Effect.fn("PendingMessages.sendPending")(function* (
  { key, responder }: { readonly key: ConversationKey; readonly responder: Responder },
  place: WorkLocation | undefined,
  isQueued: boolean
) {
  const conversations = yield* Conversations
  const { pending = [], place: latest } = yield* conversations.get(key.key)
  const offline: Array<ChatMessage> = []
  // A message that may be an answer waits for another choice.
  const [possibleAnswers, sendable] = [
    pending.filter(({ inputId }) => inputId !== undefined),
    pending.filter(({ inputId }) => inputId === undefined)
  ]
  for (const message of sendable) {
    const outcome = yield* attempt(key, responder, message, place, isQueued).pipe(
      // A refused message does not hold up the others.
      Effect.catchTag("HubRefused", (refused) =>
        answered(responder.reply(phrases.refusalText(refused), message.key))
      )
    )
    if (outcome === "offline") offline.push({ ...message, fresh: false })
  }
  yield* conversations.set(key.key, { place: place ?? latest, pending: [...possibleAnswers, ...offline] })
  if (offline.length > 0) yield* (yield* OfflineQuestion).show(key, responder)
})

export const discard = Effect.fn("PendingMessages.discard")(function* ({ key }: ConversationKey) {
  const conversations = yield* Conversations
  const { pending = [], place } = yield* conversations.get(key)
  yield* conversations.set(key, { place, pending: pending.filter(({ inputId }) => inputId !== undefined) })
})
