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
import { Answers } from "./Answers.ts"
import { Binding } from "./Binding.ts"
import { Clicks } from "./Clicks.ts"
import { commandOf } from "./Command.ts"
import { People } from "./People.ts"
import * as phrases from "./Phrases.ts"
import { Requests } from "./Requests.ts"
import { accountOf, type Speaker, speakerOf } from "./Speaker.ts"
import { talkKey } from "./Talks.ts"
import { UnlinkedAnswers, type UnlinkedVerdict } from "./UnlinkedAnswers.ts"
import { Work } from "./Work.ts"

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

export class Conversation extends Context.Service<Conversation, { readonly handler: Handler }>()(
  "corral/gateway/Conversation"
) {
  static readonly layer = Layer.effect(
    Conversation,
    Effect.gen(function* () {
      const answers = yield* UnlinkedAnswers
      const binding = yield* Binding
      const clicks = yield* Clicks
      const hub = yield* Hub
      const kept = yield* Answers
      const people = yield* People
      const platforms = yield* Platforms
      const requests = yield* Requests
      const work = yield* Work

      /** As whom the account acts; undefined: as nobody. */
      const identify = Effect.fnUntraced(function* (event: IntegrationEvent, account: ChatAccount) {
        const receipt = yield* hub
          .as(account, ({ integrations }) => integrations.event({ payload: event }))
          .pipe(
            Effect.catchTag("HubRefused", (refused) =>
              refused.code === "binding_required" ? Effect.undefined : Effect.fail(refused)
            )
          )
        if (receipt?.user !== undefined) yield* people.met(receipt.user.id, receipt.user.name)
        return receipt?.user
      })

      /** Keeps the answer before it is sent; what is said on the way to it, under a step's name, is said again. */
      const keeping = (speaker: Speaker): Speaker => {
        const keep = (words: Words, alone: boolean) =>
          Effect.mapError(
            kept.keep(speaker.key, { words, alone }),
            () => new PlatformUnavailable({ message: "The answer could not be kept." })
          )
        return {
          ...speaker,
          say: (words, step) =>
            step === undefined
              ? Effect.andThen(keep(words, false), speaker.say(words))
              : speaker.say(words, step),
          tell: (words, step) =>
            step === undefined
              ? Effect.andThen(keep(words, true), speaker.tell(words))
              : speaker.tell(words, step)
        }
      }

      /** Answers an unlinked account up to the hourly limit. Beyond the limit the Gateway does not call the platform. */
      const unlinked = Effect.fnUntraced(function* (event: MessageReceived | CardAction, inbound: Inbound) {
        const account = accountOf(event)
        const direct = event.type === "integration.message.received" && event.payload.chatType === "direct"
        const command = direct ? commandOf(event.payload.text) : undefined
        // A number counts only where no other person could have typed it.
        const bound = command?._tag === "Number" ? yield* binding.bind(account, command.digits) : undefined
        const verdict: UnlinkedVerdict =
          bound?.linked === true ? { _tag: "Answer" } : yield* answers.count(account, event.key)
        if (verdict._tag === "Silence") return
        const speaker = yield* speakerOf(platforms.of(event.payload.platform), event, inbound)
        if (bound !== undefined) return yield* keeping(speaker).say(bound.words)
        if (verdict._tag === "LastAnswer") return yield* speaker.tell(phrases.lastAnswer(verdict.minutes))
        if (command?._tag === "Help") return yield* speaker.say(phrases.help)
        yield* binding
          .start(event, speaker)
          .pipe(
            Effect.catchTag("HubRefused", ({ code, message: sentence }) =>
              speaker.tell(phrases.refusal(code, sentence))
            )
          )
      })

      const message = Effect.fnUntraced(function* (
        event: MessageReceived,
        speaker: Speaker,
        user: { readonly name: string }
      ) {
        const command = commandOf(event.payload.text)
        const { attachments, chatId, chatType, messageId, rootId, threadId } = event.payload
        // A direct chat is one talk but for its threads; in a group each mention begins one, and answers to it go on.
        const thread = chatType === "direct" ? threadId : (rootId ?? messageId)
        const spot = {
          talk: talkKey(speaker.account, chatId, thread),
          base: talkKey(speaker.account, chatId, undefined),
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
          yield* speaker.say(phrases.attachmentsLeft, "attachments")
        switch (command._tag) {
          case "Work":
            return yield* start(command.text, false)
          case "Fresh":
            return yield* start(command.text, true)
          case "Number":
            return yield* speaker.say(phrases.numberNotNeeded(user.name))
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
            return yield* speaker.say(phrases.alreadyLinked(user.name))
          case "Unbind":
            return yield* binding.unbind(speaker)
          case "Help":
            return yield* speaker.say(phrases.help)
          case "Unknown":
            return yield* speaker.say(phrases.unknownCommand)
          case "Nothing":
            return yield* speaker.say(attachments === undefined ? phrases.help : phrases.onlyText)
        }
      })

      const linked = Effect.fnUntraced(function* (
        event: MessageReceived | CardAction,
        inbound: Inbound,
        user: { readonly name: string }
      ) {
        const sending = yield* speakerOf(platforms.of(event.payload.platform), event, inbound)
        const decided = yield* kept.find(event.key)
        if (decided !== undefined)
          return yield* decided.alone ? sending.tell(decided.words) : sending.say(decided.words)
        const speaker = keeping(sending)
        const isClick = event.type === "integration.card.action"
        const handled: Effect.Effect<void, Failed> = isClick
          ? clicks.handle(event, speaker)
          : message(event, speaker, user)
        yield* handled.pipe(
          Effect.catchTag("HubRefused", ({ code, message: sentence }) => {
            const words = phrases.refusal(code, sentence)
            return isClick ? speaker.tell(words) : speaker.say(words)
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
      return Conversation.of({ handler })
    })
  )
}
