/** Handling of a message from a linked account: a command, or a text for the agent. */
import type { MessageReceived } from "@corral/domain/chat/Integration"
import { Effect } from "effect"
import { AccountLinks } from "../linking/AccountLinks.ts"
import { AnswerOffer } from "./AnswerOffer.ts"
import { ChatCommands } from "./ChatCommands.ts"
import { ChatMessages } from "./ChatMessages.ts"
import { type Command, parseCommand } from "./Command.ts"
import { conversationKey, type ConversationKey } from "./Conversations.ts"
import * as linkPhrases from "../linking/LinkPhrases.ts"
import * as phrases from "../answer/Phrases.ts"
import type { Responder } from "../answer/Responder.ts"
import { SessionCommands } from "./SessionCommands.ts"

/** A direct chat and each of its threads is one conversation. In a group, each mention starts one, which replies continue. */
const keyFor = ({ payload }: MessageReceived, { account }: Responder): ConversationKey => {
  const { chatId, chatType, messageId, rootId, threadId } = payload
  const thread = chatType === "direct" ? threadId : (rootId ?? messageId)
  return {
    key: conversationKey(account, chatId, thread),
    chatKey: conversationKey(account, chatId, undefined),
    chatId
  }
}

const sendText = Effect.fn("MessageHandler.sendText")(function* (
  event: MessageReceived,
  responder: Responder,
  { _tag, text }: Extract<Command, { readonly _tag: "Fresh" | "Now" | "Work" }>
) {
  const { chatType, messageId, threadId } = event.payload
  const key = keyFor(event, responder)
  const messages = yield* ChatMessages
  const direct = chatType === "direct"
  if (text === "") return yield* messages.begin(key, responder, direct)
  const message = {
    text,
    fresh: _tag === "Fresh",
    now: _tag === "Now",
    key: event.key,
    replyTo: messageId,
    ...(threadId === undefined ? {} : { threadId }),
    direct
  }
  if (_tag === "Work" && (yield* (yield* AnswerOffer).offer(key, responder, message))) return
  yield* messages.send(key, responder, message)
})

/** Without held messages, the word is one for the agent. */
const continueSession = Effect.fn("MessageHandler.continueSession")(function* (
  event: MessageReceived,
  responder: Responder,
  key: ConversationKey
) {
  const text = event.payload.text.trim()
  if (yield* (yield* SessionCommands).proceed(key, responder)) return
  if (text.startsWith("/")) return yield* responder.reply(phrases.nothingHeld)
  yield* sendText(event, responder, { _tag: "Work", text })
})

export const handleMessage = Effect.fn("MessageHandler.handleMessage")(function* (
  event: MessageReceived,
  responder: Responder,
  user: { readonly name: string }
) {
  const commands = yield* ChatCommands
  const sessions = yield* SessionCommands
  const { attachments, chatType, text } = event.payload
  const command = parseCommand(text)
  const key = keyFor(event, responder)
  if (attachments !== undefined && command._tag !== "Nothing")
    yield* responder.reply(phrases.attachmentsLeft, "attachments")
  switch (command._tag) {
    case "Work":
    case "Now":
    case "Fresh":
      return yield* sendText(event, responder, command)
    case "Stop":
      return yield* sessions.stop(key, responder)
    case "Continue":
      return yield* continueSession(event, responder, key)
    case "Number":
      return yield* responder.reply(linkPhrases.numberNotNeeded(user.name))
    case "Status":
      return yield* commands.status(key, responder)
    case "List":
      return yield* commands.list(responder, chatType === "direct")
    case "Cancel":
      return yield* commands.cancel(key, responder, command.which)
    case "Decide":
      return yield* commands.decide(key, responder, command)
    case "Use":
      return yield* sessions.use(key, responder, command.which)
    case "Agent":
      return yield* sessions.agent(key, responder, command.name)
    case "Bind":
      return yield* responder.reply(linkPhrases.alreadyLinked(user.name))
    case "Unbind":
      return yield* (yield* AccountLinks).unlink(responder)
    case "Help":
      return yield* responder.reply(phrases.help)
    case "Unknown":
      return yield* responder.reply(phrases.unknownCommand)
    case "Nothing":
      return yield* responder.reply(attachments === undefined ? phrases.help : phrases.onlyText)
  }
})
