/**
 * Responder to one event: in the chat of the event, in the user's language. The key of each answer is derived from the event, so a platform with
 * idempotent sends shows it once. An answer is stored from the decision until it is sent: if sending fails, a retry sends this answer, and does
 * not repeat the action, which would fail as already done.
 */
import type { ChatAccount } from "@corral/domain/chat/ChatAccount"
import type { CardAction, MessageReceived } from "@corral/domain/chat/Integration"
import { Context, Effect, Layer, Schema } from "effect"
import type { SqlError } from "effect/sql"
import { createHash } from "node:crypto"
import {
  type Card,
  type ChatPlatform,
  type Destination,
  type Inbound,
  type LocalizedText,
  type MessageRef,
  type NotSent,
  PlatformUnavailable,
  localizedTextIn
} from "../platform/ChatPlatform.ts"
import { queryRow, timedStore } from "../store/RowQueries.ts"

export interface Responder {
  readonly account: ChatAccount
  readonly platform: ChatPlatform
  readonly language: keyof LocalizedText
  /** Key of the event. */
  readonly key: string
  /** Replies in the chat of the event. `step` distinguishes the parts of one answer. */
  readonly reply: (words: LocalizedText, step?: string) => Effect.Effect<void, PlatformUnavailable>
  readonly replyWithCard: (
    card: Card,
    step: string
  ) => Effect.Effect<MessageRef, NotSent | PlatformUnavailable>
  /** Replies to the user only: at the clicked card if the platform supports it, otherwise in the direct chat. */
  readonly replyPrivately: (words: LocalizedText, step?: string) => Effect.Effect<void, PlatformUnavailable>
}

/** Key of a message: 40 characters, derived from the event and the step. */
export const sendKey = (key: string, step: string): string =>
  createHash("sha256").update(`${key} ${step}`).digest("base64url").slice(0, 40)

const hasHan = /\p{Script=Han}/u

export const accountOf = (event: MessageReceived | CardAction): ChatAccount => ({
  platform: event.payload.platform,
  app: event.payload.app ?? "",
  tenant: event.payload.tenant,
  account: event.type === "integration.card.action" ? event.payload.operatorId : event.payload.senderId
})

/** The chat of the event, or the direct chat if a click names no chat. */
const destinationOf = (event: MessageReceived | CardAction): Destination => {
  if (event.type === "integration.card.action")
    return event.payload.chatId === undefined
      ? { _tag: "Person", userId: event.payload.operatorId }
      : { _tag: "Chat", chatId: event.payload.chatId, replyTo: event.payload.messageId }
  const { chatId, messageId, threadId } = event.payload
  return { _tag: "Chat", chatId, replyTo: messageId, threadId }
}

/** Without a preference: the language of the platform's profile, or the language of the message, or the platform's default. */
const languageOf = Effect.fnUntraced(function* (platform: ChatPlatform, account: string, text: string) {
  const { language } = yield* platform.person(account)
  if (language !== undefined) return language
  if (hasHan.test(text)) return "zh"
  return /[A-Za-z]{2}/.test(text) ? "en" : platform.language
})

export const makeResponder = Effect.fnUntraced(function* (
  platform: ChatPlatform,
  event: MessageReceived | CardAction,
  inbound: Inbound,
  /** What the user prefers, if it is known. */
  preferred?: keyof LocalizedText
) {
  const account = accountOf(event)
  const text = event.type === "integration.message.received" ? event.payload.text : ""
  const language = preferred ?? (yield* languageOf(platform, account.account, text))
  const direct: Destination = { _tag: "Person", userId: account.account }
  const sendText = (destination: Destination, words: LocalizedText, step: string) =>
    Effect.asVoid(
      platform.send(
        destination,
        { _tag: "Text", text: localizedTextIn(words, language) },
        sendKey(event.key, step)
      )
    )
  /** Sends to the first destination that the platform accepts. */
  const sendToFirst = (
    destinations: readonly [Destination, Destination],
    words: LocalizedText,
    step: string
  ) =>
    sendText(destinations[0], words, step).pipe(
      Effect.catchTag("NotSent", () => sendText(destinations[1], words, `${step} elsewhere`)),
      // The platform delivers nothing to this user. The handled event stays handled.
      Effect.catchTag("NotSent", ({ message }) =>
        Effect.logWarning("failed to send an answer", { event: event.key, reason: message })
      )
    )
  const sendDirectly = (words: LocalizedText, step: string) =>
    sendToFirst([direct, destinationOf(event)], words, step)
  const replyPrivately: Responder["replyPrivately"] = (words, step = "answer") => {
    const { sendEphemeral } = platform
    if (sendEphemeral === undefined || event.type !== "integration.card.action")
      return sendDirectly(words, step)
    const ephemeral = sendEphemeral(inbound, localizedTextIn(words, language))
    return Effect.catchTag(ephemeral, "NotSent", () => sendDirectly(words, step))
  }
  return {
    account,
    platform,
    language,
    key: event.key,
    reply: (words, step = "answer") => sendToFirst([destinationOf(event), direct], words, step),
    replyWithCard: (card, step) =>
      platform.send(destinationOf(event), { _tag: "Card", card }, sendKey(event.key, step)),
    replyPrivately
  } satisfies Responder as Responder
})

// Responder that stores the final answer before it is sent, so that a retry sends the answer and does not repeat the action.

/** Answers with a step are not final and are not stored. */
export const storedResponder = (
  responder: Responder,
  answers: (typeof StoredAnswers)["Service"]
): Responder => {
  const store = (words: LocalizedText, alone: boolean) =>
    Effect.mapError(
      answers.store(responder.key, { words, alone }),
      () => new PlatformUnavailable({ message: "The answer could not be stored." })
    )
  return {
    ...responder,
    reply: (words, step) =>
      step === undefined
        ? Effect.andThen(store(words, false), responder.reply(words))
        : responder.reply(words, step),
    replyPrivately: (words, step) =>
      step === undefined
        ? Effect.andThen(store(words, true), responder.replyPrivately(words))
        : responder.replyPrivately(words, step)
  }
}

const StoredAnswer = Schema.Struct({
  words: Schema.Struct({ en: Schema.String, zh: Schema.String }),
  /** Whether only the user who asked may read it. */
  alone: Schema.Boolean
})
type StoredAnswer = typeof StoredAnswer.Type

const AnswerColumn = Schema.fromJsonString(StoredAnswer)

const encodeAnswer = Schema.encodeSync(AnswerColumn)

/** Codec of the table `answers`. */
const AnswerRow = Schema.Struct({ answer: AnswerColumn })

const DAY_MS = 86_400_000

/**
 * Stored answer to an event, from the decision until it is sent. If sending fails, a retry sends this answer. The retry does not repeat the
 * action, which would fail as already done.
 */
export class StoredAnswers extends Context.Service<
  StoredAnswers,
  {
    /** Stores the answer to the event with this key. */
    readonly store: (key: string, answer: StoredAnswer) => Effect.Effect<void, SqlError.SqlError>
    readonly find: (key: string) => Effect.Effect<StoredAnswer | undefined, SqlError.SqlError>
    /** Deletes answers that are a day old. */
    readonly deleteOld: Effect.Effect<void, SqlError.SqlError>
  }
>()("corral/gateway/StoredAnswers") {
  static readonly layer = Layer.effect(
    StoredAnswers,
    Effect.gen(function* () {
      const { at, sql } = yield* timedStore
      const find = queryRow({
        Request: Schema.String,
        Result: AnswerRow,
        execute: (key) => sql`SELECT answer FROM answers WHERE key = ${key}`
      })
      return StoredAnswers.of({
        store: Effect.fn("Responder.storeAnswer")(function* (key, answer) {
          yield* sql`
            INSERT INTO answers ${sql.insert({ key, answer: encodeAnswer(answer), decided_at: at() })}
            ON CONFLICT (key) DO UPDATE SET answer = EXCLUDED.answer`
        }),
        find: Effect.fn("Responder.findAnswer")(function* (key) {
          return (yield* find(key))?.answer
        }),
        deleteOld: Effect.suspend(() => sql`DELETE FROM answers WHERE decided_at < ${at(-DAY_MS)}`).pipe(
          Effect.asVoid,
          Effect.withSpan("Responder.deleteOldAnswers")
        )
      })
    })
  )
}
