/**
 * Card that asks whether a message is the answer to the only open question of its thread. Only the user who wrote the message can use it.
 *
 * Guarantees: a message never becomes an answer by itself. It is kept until its author chooses, for up to a day.
 */
import { Context, Effect, Layer } from "effect"
import type { SqlError } from "effect/sql"
import * as phrases from "../answer/Phrases.ts"
import type { Responder } from "../answer/Responder.ts"
import type { ButtonActions } from "../button/ButtonActions.ts"
import { InputCardStore } from "../following/RequestCardStore.ts"
import { textQuestion } from "../following/QuestionForm.ts"
import { Hub, type HubFailed } from "../hub/Hub.ts"
import type { MessageRef, NotSent, PlatformUnavailable } from "../platform/ChatPlatform.ts"
import { postpone, showChoice } from "./PendingMessages.ts"
import {
  type ChatMessage,
  ChatSessions,
  type ConversationKey,
  Conversations,
  threadKeyOf
} from "./Conversations.ts"

type Failed = HubFailed | NotSent | PlatformUnavailable | SqlError.SqlError

type Services = ButtonActions | ChatSessions | Conversations | Hub | InputCardStore

export class AnswerOffer extends Context.Service<
  AnswerOffer,
  {
    /** Whether the message waits for its author's choice. `false`: it is an ordinary message. */
    readonly offer: (
      key: ConversationKey,
      responder: Responder,
      message: ChatMessage
    ) => Effect.Effect<boolean, Failed>
    /** The message that waits; `undefined` if its author has chosen. */
    readonly find: (key: string, message: string) => Effect.Effect<ChatMessage | undefined, SqlError.SqlError>
    /** The message no longer waits. Draws the card without buttons; a failure of that is ignored. */
    readonly settle: (
      key: string,
      message: string,
      card: MessageRef,
      responder: Responder,
      isAnswer: boolean
    ) => Effect.Effect<void, SqlError.SqlError>
  }
>()("corral/gateway/AnswerOffer") {
  static readonly layer = Layer.effect(
    AnswerOffer,
    Effect.map(Effect.context<Services>(), (services) => {
      const provide = Effect.provide(services)
      return AnswerOffer.of({
        offer: (key, responder, message) => provide(offer(key, responder, message)),
        find: (key, message) => provide(find(key, message)),
        settle: (key, message, card, responder, isAnswer) =>
          provide(settle(key, message, card, responder, isAnswer))
      })
    })
  )
}

/** The only open question of the thread, if a text can answer it and the user may read it. */
const onlyTextQuestion = Effect.fn("AnswerOffer.onlyTextQuestion")(function* (
  key: ConversationKey,
  { account }: Responder
) {
  const { session } = yield* (yield* ChatSessions).get(threadKeyOf(key))
  if (session === undefined) return undefined
  const chat = { ...account, chatId: key.chatId }
  const [inputId, another] = yield* (yield* InputCardStore).pendingInSession(chat, session.id)
  if (inputId === undefined || another !== undefined) return undefined
  const hub = yield* Hub
  const input = yield* hub
    .as(account, ({ inputs }) => inputs.get({ params: { id: inputId } }))
    .pipe(Effect.catchTag("HubRefused", () => Effect.undefined))
  return input?.state === "pending" && textQuestion(input) !== undefined ? inputId : undefined
})

const offer = Effect.fn("AnswerOffer.offer")(function* (
  key: ConversationKey,
  responder: Responder,
  message: ChatMessage
) {
  const inputId = yield* onlyTextQuestion(key, responder)
  if (inputId === undefined) return false
  if (yield* postpone(key, responder, { ...message, inputId }))
    yield* showChoice(responder, {
      title: phrases.answerOfferTitle,
      line: phrases.answerOfferLine,
      first: phrases.answerWithText,
      second: phrases.sendAsMessage,
      meaningOf: (isAnswer) => ({
        _tag: "Reply",
        talk: key.key,
        base: key.chatKey,
        message: message.key,
        inputId,
        isAnswer
      }),
      step: "answer offer"
    })
  return true
})

const find = Effect.fn("AnswerOffer.find")(function* (key: string, message: string) {
  const { pending = [] } = yield* (yield* Conversations).get(key)
  return pending.find((each) => each.key === message && each.inputId !== undefined)
})

const settle = Effect.fn("AnswerOffer.settle")(function* (
  key: string,
  message: string,
  card: MessageRef,
  { language, platform }: Responder,
  isAnswer: boolean
) {
  const conversations = yield* Conversations
  const { pending = [], place } = yield* conversations.get(key)
  yield* conversations.set(key, { place, pending: pending.filter((each) => each.key !== message) })
  yield* platform
    .update(card, {
      language,
      title: phrases.answerOfferTitle,
      tone: "neutral",
      lines: [isAnswer ? phrases.sentAsAnswer : phrases.sentAsMessage],
      buttons: []
    })
    .pipe(Effect.ignore)
})
