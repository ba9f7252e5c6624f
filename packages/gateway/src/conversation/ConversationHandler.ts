/**
 * What is done with an event of a chat: the Hub is told of it and says as whom the account acts; who is nobody yet is asked to link the
 * account, and nothing else happens; for anybody else the message is a command, or work, and a click is what its button means.
 */
import type { ChatAccount } from "@corral/domain/chat/ChatAccount"
import type { CardAction, IntegrationEvent, MessageReceived } from "@corral/domain/chat/Integration"
import { Context, Effect, Layer } from "effect"
import type { SqlError } from "effect/sql"
import { HandlerFailed, type Handler } from "../handling/Handler.ts"
import { Hub } from "../hub/Hub.ts"
import type { HubFailed } from "../hub/HubFailures.ts"
import { type Inbound, type NotSent, PlatformUnavailable } from "../platform/ChatPlatform.ts"
import { Platforms } from "../platform/Platforms.ts"
import type { Words } from "../platform/Words.ts"
import { StoredAnswers } from "./StoredAnswers.ts"
import { AccountLinks } from "./AccountLinks.ts"
import { Clicks } from "./Clicks.ts"
import { parseCommand } from "./Command.ts"
import { UserNames } from "../hub/UserNames.ts"
import * as phrases from "./Phrases.ts"
import { ChatCommands } from "./ChatCommands.ts"
import { accountOf, type Responder, makeResponder } from "./Responder.ts"
import { conversationKey } from "./Conversations.ts"
import { UnlinkedAnswers, type UnlinkedVerdict } from "./UnlinkedAnswers.ts"
import { ChatTasks } from "./ChatTasks.ts"

type Failed = HandlerFailed | HubFailed | NotSent | PlatformUnavailable | SqlError.SqlError

/** As the queue takes it: whether trying again may help. */
const handlerFailed = (error: Exclude<Failed, HandlerFailed>): HandlerFailed => {
  switch (error._tag) {
    case "SqlError":
      return new HandlerFailed({ message: "The store is not there.", permanent: false })
    case "HubRefused":
      return new HandlerFailed({ message: `The Hub refused it: ${error.code}.`, permanent: true })
    case "NotSent":
      return new HandlerFailed({ message: error.message, permanent: true })
    case "HubUnavailable":
      return new HandlerFailed({
        message: error.message,
        permanent: false,
        retryAfterMs: error.retryAfterMs
      })
    default:
      return new HandlerFailed({ message: error.message, permanent: false })
  }
}

export class ConversationHandler extends Context.Service<
  ConversationHandler,
  { readonly handler: Handler }
>()("corral/gateway/Conversation") {
  static readonly layer = Layer.effect(
    ConversationHandler,
    Effect.gen(function* () {
      const answers = yield* UnlinkedAnswers
      const binding = yield* AccountLinks
      const clicks = yield* Clicks
      const hub = yield* Hub
      const kept = yield* StoredAnswers
      const people = yield* UserNames
      const platforms = yield* Platforms
      const requests = yield* ChatCommands
      const work = yield* ChatTasks

      /** As whom the account acts; undefined: as nobody. */
      const identify = Effect.fnUntraced(function* (event: IntegrationEvent, account: ChatAccount) {
        const receipt = yield* hub
          .as(account, ({ integrations }) => integrations.event({ payload: event }))
          .pipe(
            Effect.catchTag("HubRefused", (refused) =>
              refused.code === "binding_required" ? Effect.undefined : Effect.fail(refused)
            )
          )
        if (receipt?.user !== undefined) yield* people.remember(receipt.user.id, receipt.user.name)
        return receipt?.user
      })

      /** Keeps the answer before it is sent; what is said on the way to it, under a step's name, is said again. */
      const keeping = (speaker: Responder): Responder => {
        const keep = (words: Words, alone: boolean) =>
          Effect.mapError(
            kept.keep(speaker.key, { words, alone }),
            () => new PlatformUnavailable({ message: "The answer could not be kept." })
          )
        return {
          ...speaker,
          reply: (words, step) =>
            step === undefined
              ? Effect.andThen(keep(words, false), speaker.reply(words))
              : speaker.reply(words, step),
          replyPrivately: (words, step) =>
            step === undefined
              ? Effect.andThen(keep(words, true), speaker.replyPrivately(words))
              : speaker.replyPrivately(words, step)
        }
      }

      /** Answers an unlinked account up to the hourly limit. Beyond the limit the Gateway does not call the platform. */
      const unlinked = Effect.fnUntraced(function* (event: MessageReceived | CardAction, inbound: Inbound) {
        const account = accountOf(event)
        const direct = event.type === "integration.message.received" && event.payload.chatType === "direct"
        const command = direct ? parseCommand(event.payload.text) : undefined
        // A number counts only where no other person could have typed it.
        const bound = command?._tag === "Number" ? yield* binding.link(account, command.digits) : undefined
        const verdict: UnlinkedVerdict =
          bound?.isLinked === true ? { _tag: "Answer" } : yield* answers.count(account, event.key)
        if (verdict._tag === "Silence") return
        const speaker = yield* makeResponder(platforms.of(event.payload.platform), event, inbound)
        if (bound !== undefined) return yield* keeping(speaker).reply(bound.words)
        if (verdict._tag === "LastAnswer")
          return yield* speaker.replyPrivately(phrases.lastAnswer(verdict.minutes))
        if (command?._tag === "Help") return yield* speaker.reply(phrases.help)
        yield* binding
          .sendLink(event, speaker)
          .pipe(
            Effect.catchTag("HubRefused", ({ code, message: sentence }) =>
              speaker.replyPrivately(phrases.refusalText(code, sentence))
            )
          )
      })

      const message = Effect.fnUntraced(function* (
        event: MessageReceived,
        speaker: Responder,
        user: { readonly name: string }
      ) {
        const command = parseCommand(event.payload.text)
        const { attachments, chatId, chatType, messageId, rootId, threadId } = event.payload
        // A direct chat is one talk but for its threads; in a group each mention begins one, and answers to it go on.
        const thread = chatType === "direct" ? threadId : (rootId ?? messageId)
        const spot = {
          key: conversationKey(speaker.account, chatId, thread),
          chatKey: conversationKey(speaker.account, chatId, undefined),
          chatId
        }
        const start = (said: string, fresh: boolean) =>
          work.start(spot, speaker, {
            text: said,
            fresh,
            key: event.key,
            replyTo: messageId,
            ...(threadId === undefined ? {} : { threadId }),
            direct: chatType === "direct"
          })
        if (attachments !== undefined && command._tag !== "Nothing")
          yield* speaker.reply(phrases.attachmentsLeft, "attachments")
        switch (command._tag) {
          case "Work":
            return yield* start(command.text, false)
          case "Fresh":
            return yield* start(command.text, true)
          case "Number":
            return yield* speaker.reply(phrases.numberNotNeeded(user.name))
          case "Status":
            return yield* requests.status(spot, speaker)
          case "List":
            return yield* requests.list(speaker, chatType === "direct")
          case "Cancel":
            return yield* requests.cancel(spot, speaker, command.which)
          case "Decide":
            return yield* requests.decide(spot, speaker, command)
          case "Use":
            return yield* requests.use(spot, speaker, command.which)
          case "Agent":
            return yield* requests.agent(spot, speaker, command.name)
          case "Bind":
            return yield* speaker.reply(phrases.alreadyLinked(user.name))
          case "Unbind":
            return yield* binding.unlink(speaker)
          case "Help":
            return yield* speaker.reply(phrases.help)
          case "Unknown":
            return yield* speaker.reply(phrases.unknownCommand)
          case "Nothing":
            return yield* speaker.reply(attachments === undefined ? phrases.help : phrases.onlyText)
        }
      })

      const linked = Effect.fnUntraced(function* (
        event: MessageReceived | CardAction,
        inbound: Inbound,
        user: { readonly name: string }
      ) {
        const sending = yield* makeResponder(platforms.of(event.payload.platform), event, inbound)
        const decided = yield* kept.find(event.key)
        if (decided !== undefined)
          return yield* decided.alone ? sending.replyPrivately(decided.words) : sending.reply(decided.words)
        const speaker = keeping(sending)
        const isClick = event.type === "integration.card.action"
        const handled: Effect.Effect<void, Failed> = isClick
          ? clicks.handle(event, speaker)
          : message(event, speaker, user)
        yield* handled.pipe(
          Effect.catchTag("HubRefused", ({ code, message: sentence }) => {
            const words = phrases.refusalText(code, sentence)
            return isClick ? speaker.replyPrivately(words) : speaker.reply(words)
          })
        )
      })

      const handler = Effect.fnUntraced(
        function* (event: IntegrationEvent, inbound: Inbound) {
          if (event.type === "identity.binding.required") return
          const user = yield* identify(event, accountOf(event))
          yield* user === undefined ? unlinked(event, inbound) : linked(event, inbound, user)
        },
        Effect.mapError((error: Failed) => (error._tag === "HandlerFailed" ? error : handlerFailed(error)))
      )
      return ConversationHandler.of({ handler })
    })
  )
}
