/** Handling of a message from a linked account: a command, or the text of a task. */
import type { MessageReceived } from "@corral/domain/chat/Integration"
import { Effect } from "effect"
import { AccountLinks } from "./AccountLinks.ts"
import { ChatCommands } from "./ChatCommands.ts"
import { ChatTasks } from "./ChatTasks.ts"
import { parseCommand } from "./Command.ts"
import { conversationKey, type ConversationKey } from "./Conversations.ts"
import * as phrases from "./Phrases.ts"
import type { Responder } from "./Responder.ts"

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

const startTask = Effect.fn("MessageHandler.startTask")(function* (
  event: MessageReceived,
  responder: Responder,
  text: string,
  fresh: boolean
) {
  const { chatType, messageId, threadId } = event.payload
  yield* (yield* ChatTasks).start(keyFor(event, responder), responder, {
    text,
    fresh,
    key: event.key,
    replyTo: messageId,
    ...(threadId === undefined ? {} : { threadId }),
    direct: chatType === "direct"
  })
})

export const handleMessage = Effect.fn("MessageHandler.handleMessage")(function* (
  event: MessageReceived,
  responder: Responder,
  user: { readonly name: string }
) {
  const commands = yield* ChatCommands
  const { attachments, chatType, text } = event.payload
  const command = parseCommand(text)
  const key = keyFor(event, responder)
  if (attachments !== undefined && command._tag !== "Nothing")
    yield* responder.reply(phrases.attachmentsLeft, "attachments")
  switch (command._tag) {
    case "Work":
      return yield* startTask(event, responder, command.text, false)
    case "Fresh":
      return yield* startTask(event, responder, command.text, true)
    case "Number":
      return yield* responder.reply(phrases.numberNotNeeded(user.name))
    case "Status":
      return yield* commands.status(key, responder)
    case "List":
      return yield* commands.list(responder, chatType === "direct")
    case "Cancel":
      return yield* commands.cancel(key, responder, command.which)
    case "Decide":
      return yield* commands.decide(key, responder, command)
    case "Use":
      return yield* commands.use(key, responder, command.which)
    case "Agent":
      return yield* commands.agent(key, responder, command.name)
    case "Bind":
      return yield* responder.reply(phrases.alreadyLinked(user.name))
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
