/**
 * Handling of messages that their authors have edited or deleted in the chat. A message that waits is changed or withdrawn, at the Hub or here. For
 * one that an agent has already, the thread receives a note.
 *
 * Guarantees: only a message that the bot has accepted is changed, and the Hub authorizes it as its author.
 */
import type { MessageId, SessionId } from "@corral/domain/identity/Ids"
import { MAX_MESSAGE_TEXT } from "@corral/domain/session/Message"
import { Context, Effect, Layer } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import * as phrases from "../answer/Phrases.ts"
import { sendKey } from "../answer/Responder.ts"
import { type Follow, followedOf, Follows, isInChat } from "../following/Follows.ts"
import { eventKeyOf, HandlerFailed, handlerFailureOf } from "../handling/Handler.ts"
import { Hub, HubRefused } from "../hub/Hub.ts"
import {
  type ChatPlatform,
  type Inbound,
  type MessageChange,
  type PlatformUnavailable,
  Platforms
} from "../platform/ChatPlatform.ts"
import { parseCommand } from "./ChatCommands.ts"
import { Conversations } from "./Conversations.ts"

type Services = Conversations | Follows | Hub | Platforms | SqlClient.SqlClient

export class ChangedMessages extends Context.Service<
  ChangedMessages,
  { readonly handle: (inbound: Inbound) => Effect.Effect<void, HandlerFailed> }
>()("corral/gateway/ChangedMessages") {
  static readonly layer = Layer.effect(
    ChangedMessages,
    Effect.map(Effect.context<Services>(), (services) =>
      ChangedMessages.of({
        handle: (inbound) => Effect.provide(Effect.mapError(handle(inbound), handlerFailureOf), services)
      })
    )
  )
}

const handle = Effect.fn("ChangedMessages.handle")(function* (inbound: Inbound) {
  const platform = (yield* Platforms).of(inbound.platform)
  const found = yield* platform.changeOf(inbound)
  if (found === undefined) return
  const change = found.text === undefined ? found : { ...found, text: agentTextOf(found.text) }
  // An edit that leaves no text is not a message.
  if (change.text === "") return
  const chat = { ...inbound, chatId: change.chatId }
  if (yield* (yield* Conversations).changePending(chat, change)) return
  const follow = yield* (yield* Follows).ofMessage(chat, change.messageId)
  if (follow !== undefined) {
    const isOfAuthor = inbound.senderId === "" || inbound.senderId === follow.account.account
    return isOfAuthor ? yield* changeSent(platform, inbound, change, follow) : undefined
  }
  if (yield* isInInbox(inbound, change))
    return yield* new HandlerFailed({ message: "The message is still being handled.", permanent: false })
})

/** What the agent receives of a text: a command that sends a message is not part of it. */
const agentTextOf = (text: string): string => {
  const command = parseCommand(text)
  return command._tag === "Work" || command._tag === "Now" || command._tag === "Fresh" ? command.text : text
}

/** Whether the message has arrived and is not handled yet. */
const isInInbox = Effect.fnUntraced(function* (inbound: Inbound, { chatId, messageId }: MessageChange) {
  const sql = yield* SqlClient.SqlClient
  const waiting = yield* sql`
    SELECT 1 FROM inbox WHERE done_at IS NULL AND kind = 'message' AND ${isInChat(sql, { ...inbound, chatId })}
      AND strpos(body, ${messageId}) > 0`
  return waiting.length > 0
})

const isOver = (error: unknown): boolean => error instanceof HubRefused && error.code === "conflict"

const changeSent = Effect.fnUntraced(function* (
  platform: ChatPlatform,
  inbound: Inbound,
  change: MessageChange,
  follow: Follow
) {
  const followed = followedOf(follow)
  const isChanged = "taskId" in followed ? false : yield* changeAtHub(follow, followed, change.text)
  if (!isChanged) yield* noteTooLate(platform, inbound, change, follow)
})

/** Returns whether no agent has the old text. */
const changeAtHub = Effect.fnUntraced(function* (
  { account }: Follow,
  { messageId, sessionId: id }: { readonly sessionId: SessionId; readonly messageId: MessageId },
  text: string | undefined
) {
  const hub = yield* Hub
  const params = { id, messageId }
  const message = yield* hub.as(account, ({ sessions }) => sessions.message({ params }))
  const { delivery, text: current, version } = message
  if (delivery?.state === "withdrawn" || text === current) return true
  if (delivery?.state !== "pending" || (text?.length ?? 0) > MAX_MESSAGE_TEXT) return false
  const changed =
    text === undefined
      ? hub.as(account, ({ sessions }) => sessions.withdrawMessage({ params }))
      : hub.as(account, ({ sessions }) => sessions.updateMessage({ params, payload: { version, text } }))
  return yield* Effect.catchIf(Effect.as(changed, true), isOver, () => Effect.succeed(false))
})

/** In the thread of the message, or in its chat if the platform accepts no answer to a deleted message. */
const noteTooLate = (
  platform: ChatPlatform,
  inbound: Inbound,
  { chatId, messageId, text }: MessageChange,
  { language, threadId }: Follow
): Effect.Effect<void, PlatformUnavailable | SqlError.SqlError> => {
  const words = text === undefined ? phrases.deletedTooLate : phrases.editedTooLate
  const send = (replyTo: string | undefined) =>
    platform.send(
      { _tag: "Chat", chatId, replyTo, threadId },
      { _tag: "Text", text: words[language] },
      sendKey(eventKeyOf(inbound), "changed")
    )
  return send(messageId).pipe(
    Effect.catchTag("NotSent", () => send(undefined)),
    Effect.catchTag("NotSent", () => Effect.void),
    Effect.asVoid
  )
}
