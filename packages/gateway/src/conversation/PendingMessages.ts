/**
 * Sending of messages that may wait for a choice of their author: where the agent works, or whether they wait for an offline machine, and the card that
 * asks for a choice.
 *
 * Guarantees: messages that wait keep their order, and a second attempt sends none of them twice.
 */
import type { AgentInstance } from "@corral/domain/run/AgentProfile"
import { Clock, Context, Effect, Layer } from "effect"
import type { SqlError } from "effect/sql"
import * as phrases from "../answer/Phrases.ts"
import type { Responder } from "../answer/Responder.ts"
import { ButtonActions, type ButtonMeaning, type WorkLocation } from "../button/ButtonActions.ts"
import { Follows } from "../following/Follows.ts"
import { MessageFollower } from "../following/MessageFollower.ts"
import type { Hub, HubFailed, HubRefused } from "../hub/Hub.ts"
import type { LocalizedText, MessageRef, NotSent, PlatformUnavailable } from "../platform/ChatPlatform.ts"
import {
  type ChatMessage,
  type ChatSession,
  ChatSessions,
  type ConversationKey,
  Conversations,
  MAX_PENDING_MESSAGES,
  threadKeyOf
} from "./Conversations.ts"
import { addAgent, addMessage, createSession, readSession, recipientOf } from "./HubSessions.ts"

// Card that asks the author of a message to choose between two ways. Only this account can use its buttons.

/** As long as the messages that wait for the choice are kept. */
const LIFETIME_MS = 86_400_000

interface Choice {
  readonly title: LocalizedText
  readonly line: LocalizedText
  /** Labels of the buttons. */
  readonly first: LocalizedText
  readonly second: LocalizedText
  readonly meaningOf: (isFirst: boolean) => ButtonMeaning
  /** Distinguishes the card from other answers to the same event. */
  readonly step: string
}

export const showChoice = Effect.fn("PendingMessages.showChoice")(function* (
  { account, language, replyWithCard }: Responder,
  { first, line, meaningOf, second, step, title }: Choice
) {
  const actions = yield* ButtonActions
  const expiresAt = (yield* Clock.currentTimeMillis) + LIFETIME_MS
  const offer = (isFirst: boolean) =>
    actions.offer({ bot: account, meaning: meaningOf(isFirst), audience: account.account, expiresAt })
  const ids = [yield* offer(true), yield* offer(false)] as const
  const sent = yield* replyWithCard(
    {
      language,
      title,
      tone: "attention",
      lines: [line],
      buttons: [
        { _tag: "Action", label: first, actionId: ids[0], style: "primary" },
        { _tag: "Action", label: second, actionId: ids[1], style: "plain" }
      ]
    },
    step
  )
  yield* actions.attach(ids, sent)
})

/**
 * Card that asks whether messages wait for their offline machine. Only the user who wrote them can use it. Also the card of any choice between two
 * ways.
 */
export class OfflineQuestion extends Context.Service<
  OfflineQuestion,
  {
    readonly show: (
      key: ConversationKey,
      responder: Responder
    ) => Effect.Effect<void, NotSent | PlatformUnavailable | SqlError.SqlError>
    /** Draws the card with the answer and without buttons. A failure is ignored: the buttons have expired. */
    readonly settle: (card: MessageRef, responder: Responder, agreed: boolean) => Effect.Effect<void>
  }
>()("corral/gateway/OfflineQuestion") {
  static readonly layer = Layer.effect(
    OfflineQuestion,
    Effect.gen(function* () {
      const actions = yield* ButtonActions
      return OfflineQuestion.of({
        settle: (card, { language, platform }, agreed) =>
          platform
            .update(card, {
              language,
              title: phrases.offlineTitle,
              tone: "neutral",
              lines: [agreed ? phrases.queued : phrases.discarded],
              buttons: []
            })
            .pipe(Effect.ignore),
        show: ({ chatKey, key }, responder) =>
          showChoice(responder, {
            title: phrases.offlineTitle,
            line: phrases.offlineLine,
            first: phrases.sendWhenOnline,
            second: phrases.doNotSend,
            meaningOf: (agreed) => ({ _tag: "Queue", talk: key, base: chatKey, agreed }),
            step: "offline"
          }).pipe(Effect.provideService(ButtonActions, actions))
      })
    })
  )
}

// Sending of one message in a session that exists: its agent, the Hub's refusals as answers, and the beginning of following.

/** Name for people: project, machine with workspace, agent. */
const placeOf = ({ place }: ChatSession, { label, targetId, workspace }: AgentInstance): string => {
  if (place === undefined) return `${workspace} · ${label}`
  const isThere = place.targetId === targetId && place.workspace === workspace
  return `${place.names.project} · ${isThere ? place.names.target : workspace} · ${label}`
}

/** Answer to a refusal that has its own words for a message; `undefined` for others. */
const answerTo = ({ code, details }: HubRefused, { now }: ChatMessage): LocalizedText | undefined => {
  if (code === "conflict" && now) return phrases.noInput
  return code === "permission_denied" && "modes" in details ? phrases.tooWideMode : undefined
}

/** `offline`: the machine is offline, and the message was not sent. `done`: it was sent, or the user knows why it was not. */
type Sending = "done" | "offline"

/** The user knows why the message was not sent. */
const answered = <E, R>(reply: Effect.Effect<void, E, R>): Effect.Effect<Sending, E, R> =>
  Effect.as(reply, "done")

const sendInSession = Effect.fn("PendingMessages.sendInSession")(function* (
  key: ConversationKey,
  responder: Responder,
  message: ChatMessage,
  chat: ChatSession,
  queue: boolean
): Effect.fn.Return<
  Sending,
  HubFailed | PlatformUnavailable | SqlError.SqlError,
  Follows | Hub | MessageFollower
> {
  const { account, language, reply } = responder
  const session = chat.session && (yield* readSession(responder, chat.session.id))
  if (session === undefined) return yield* answered(reply(phrases.foreignSession(message.direct)))
  if (session.state !== "active") return yield* answered(reply(phrases.sessionEnded))
  let recipient = recipientOf(session, chat.agent)
  if (recipient === undefined) {
    // All agents were removed from the session.
    if (chat.place === undefined) return yield* answered(reply(phrases.noAgent))
    recipient = yield* addAgent(responder, session.id, chat.place, message.key)
  }
  const to = recipient.id === chat.agent ? recipient.id : undefined
  const sent = yield* addMessage(responder, session.id, message, { queue, to }).pipe(
    Effect.catchTag("HubRefused", (refused): Effect.Effect<Sending, HubRefused | PlatformUnavailable> => {
      if (refused.code === "target_offline") return Effect.succeed("offline")
      const answer = answerTo(refused, message)
      return answer === undefined ? Effect.fail(refused) : answered(reply(answer))
    })
  )
  if (typeof sent === "string") return sent
  yield* (yield* Follows).begin({
    id: sent.id,
    sessionId: session.id,
    account,
    chatId: key.chatId,
    replyTo: message.replyTo,
    threadId: message.threadId,
    direct: message.direct,
    language,
    place: placeOf(chat, recipient),
    isInput: sent.when === "now"
  })
  yield* (yield* MessageFollower).wake
  return "done"
})

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
