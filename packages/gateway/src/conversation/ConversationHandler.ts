/**
 * Handler of chat events. The Hub says which user an account acts as. An account without a user receives a request to link, and its first message
 * is kept until then. For a user, a message is a command or a text for the agent, and a click is the action of its button.
 */
import type { ChatAccount, IntegrationReceipt } from "@corral/domain/chat/ChatAccount"
import type { CardAction, IntegrationEvent, MessageReceived } from "@corral/domain/chat/Integration"
import { MAX_MESSAGE_TEXT } from "@corral/domain/session/Message"
import { Context, Effect, Layer } from "effect"
import {
  type Handler,
  type HandlerFailed,
  handlerFailureOf,
  type ServiceFailed,
  stampEvent
} from "../handling/Handler.ts"
import { Hub } from "../hub/Hub.ts"
import { UserNames } from "../following/UserNames.ts"
import { type Inbound, Platforms } from "../platform/ChatPlatform.ts"
import { AccountLinks, UnlinkedAnswers, type UnlinkedVerdict } from "../linking/AccountLinks.ts"
import { AnswerOffer } from "./AnswerOffer.ts"
import { ChatCommands, type Command, parseCommand } from "./ChatCommands.ts"
import { ChatMessages } from "./ChatMessages.ts"
import { ClickHandler } from "./ClickHandler.ts"
import { KeptMessages } from "../linking/KeptMessages.ts"
import * as phrases from "../answer/Phrases.ts"
import {
  type Responder,
  StoredAnswers,
  accountOf,
  makeResponder,
  storedResponder
} from "../answer/Responder.ts"
import { SessionCommands } from "./SessionCommands.ts"
import * as linkPhrases from "../linking/LinkPhrases.ts"
import { type ConversationKey, conversationKey } from "./Conversations.ts"

// Handling of a message from a linked account: a command, or a text for the agent.

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

const sendText = Effect.fn("ConversationHandler.sendText")(function* (
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
const continueSession = Effect.fn("ConversationHandler.continueSession")(function* (
  event: MessageReceived,
  responder: Responder,
  key: ConversationKey
) {
  const text = event.payload.text.trim()
  if (yield* (yield* SessionCommands).proceed(key, responder)) return
  if (text.startsWith("/")) return yield* responder.reply(phrases.nothingHeld)
  yield* sendText(event, responder, { _tag: "Work", text })
})

const handleMessage = Effect.fn("ConversationHandler.handleMessage")(function* (
  event: MessageReceived,
  responder: Responder,
  user: LinkedUser
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
    case "Compare":
      return yield* sessions.compare(key, responder)
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
    case "Limit":
      return yield* sessions.limit(key, responder, command.text)
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

// Answers to accounts that are not linked to a user, up to the hourly limit. Beyond the limit the Gateway does not call the platform. The first
// text for the agent is kept.

/** Returns whether the account is linked now. */
const handleUnlinked = Effect.fn("ConversationHandler.handleUnlinked")(function* (
  event: MessageReceived | CardAction,
  inbound: Inbound
) {
  const links = yield* AccountLinks
  const account = accountOf(event)
  const command = event.type === "integration.message.received" ? parseCommand(event.payload.text) : undefined
  const direct = event.type === "integration.message.received" && event.payload.chatType === "direct"
  // Only in a direct chat: in a group, another user could type the number.
  const link = direct && command?._tag === "Number" ? yield* links.link(account, command.digits) : undefined
  const verdict: UnlinkedVerdict =
    link?.isLinked === true ? { _tag: "Answer" } : yield* (yield* UnlinkedAnswers).count(account, event.key)
  if (verdict._tag === "Silence") return false
  const keptMessages = yield* KeptMessages
  const isKept =
    command !== undefined && "text" in command && command.text !== ""
      ? yield* keptMessages.keep(account, inbound)
      : (yield* keptMessages.find(account)) !== undefined
  const platform = (yield* Platforms).of(event.payload.platform)
  const responder = yield* makeResponder(platform, event, inbound)
  if (link !== undefined) {
    yield* storedResponder(responder, yield* StoredAnswers).reply(link.words)
    return link.isLinked
  }
  yield* answer(event, responder, { verdict, isKept, isHelp: direct && command?._tag === "Help" })
  return false
})

const answer = Effect.fnUntraced(function* (
  event: MessageReceived | CardAction,
  responder: Responder,
  options: { readonly verdict: UnlinkedVerdict; readonly isKept: boolean; readonly isHelp: boolean }
) {
  const { isHelp, isKept, verdict } = options
  if (verdict._tag === "LastAnswer")
    return yield* responder.replyPrivately(linkPhrases.lastAnswer(verdict.minutes))
  if (isHelp) return yield* responder.reply(phrases.help)
  yield* (yield* AccountLinks)
    .sendLink(event, responder, isKept)
    .pipe(Effect.catchTag("HubRefused", (refused) => responder.replyPrivately(phrases.refusalText(refused))))
})

/** The user that an account acts as. */
type LinkedUser = NonNullable<IntegrationReceipt["user"]>

type Failed = HandlerFailed | ServiceFailed

type Services =
  | AccountLinks
  | AnswerOffer
  | ChatCommands
  | ChatMessages
  | ClickHandler
  | Hub
  | KeptMessages
  | Platforms
  | SessionCommands
  | StoredAnswers
  | UnlinkedAnswers
  | UserNames

export class ConversationHandler extends Context.Service<
  ConversationHandler,
  { readonly handler: Handler }
>()("corral/gateway/ConversationHandler") {
  static readonly layer = Layer.effect(
    ConversationHandler,
    Effect.map(Effect.context<Services>(), (services) =>
      ConversationHandler.of({
        handler: (event, inbound) =>
          handleEvent(event, inbound).pipe(Effect.mapError(handlerFailureOf), Effect.provide(services))
      })
    )
  )
}

const handleEvent = Effect.fn("ConversationHandler.handleEvent")(function* (
  event: IntegrationEvent,
  inbound: Inbound
): Effect.fn.Return<void, Failed, Services> {
  if (event.type === "identity.binding.required") return
  const account = accountOf(event)
  // The Hub takes no text that is too long. The user learns it, and the platform's copy is not kept.
  const isTooLong =
    event.type === "integration.message.received" && event.payload.text.length > MAX_MESSAGE_TEXT
  const user = yield* identifyUser(isTooLong ? withoutText(event) : event, account)
  if (isTooLong) {
    const platform = (yield* Platforms).of(event.payload.platform)
    const responder = yield* makeResponder(platform, event, inbound, user?.language)
    if (user !== undefined)
      return yield* storedResponder(responder, yield* StoredAnswers).reply(phrases.textTooLong)
    return void (yield* handleUnlinked(withoutText(event), inbound))
  }
  if (user !== undefined) {
    yield* deliverKept(account, user)
    return yield* handleLinked(event, inbound, user)
  }
  if (!(yield* handleUnlinked(event, inbound))) return
  const linked = yield* identifyUser(event, account)
  if (linked !== undefined) yield* deliverKept(account, linked)
})

const withoutText = (event: MessageReceived): MessageReceived => ({
  ...event,
  payload: { ...event.payload, text: "" }
})

/** Handles the message that was kept until the account was linked. It has its own key, so a second attempt repeats no step. */
const deliverKept = Effect.fn("ConversationHandler.deliverKept")(function* (
  account: ChatAccount,
  user: LinkedUser
): Effect.fn.Return<void, Failed, Services> {
  const messages = yield* KeptMessages
  const inbound = yield* messages.find(account)
  if (inbound === undefined) return
  const platform = (yield* Platforms).of(inbound.platform)
  const draft = yield* Effect.catchTag(platform.normalize(inbound), "NotUnderstood", () => Effect.undefined)
  const event = draft === undefined ? undefined : stampEvent(draft, inbound, 1)
  if (event?.type === "integration.message.received")
    // Only answers are lost: the message itself is sent or stored by then. A chat that takes none must not hold up the account's events.
    yield* Effect.catchTag(
      handleLinked(event, inbound, user),
      ["NotSent", "PlatformUnavailable"],
      ({ message }) =>
        Effect.logWarning("failed to answer a kept message", { event: event.key, reason: message })
    )
  yield* messages.remove(account)
})

/** The user that the account acts as; `undefined` for an account that is not linked. */
const identifyUser = Effect.fn("ConversationHandler.identifyUser")(function* (
  event: IntegrationEvent,
  account: ChatAccount
) {
  const hub = yield* Hub
  const receipt = yield* hub
    .as(account, ({ integrations }) => integrations.event({ payload: event }))
    .pipe(
      Effect.catchTag("HubRefused", (refused) =>
        refused.code === "binding_required" ? Effect.undefined : Effect.fail(refused)
      )
    )
  if (receipt?.user !== undefined) yield* (yield* UserNames).remember(receipt.user.id, receipt.user.name)
  return receipt?.user
})

const handleLinked = Effect.fn("ConversationHandler.handleLinked")(function* (
  event: MessageReceived | CardAction,
  inbound: Inbound,
  user: LinkedUser
) {
  const answers = yield* StoredAnswers
  const clicks = yield* ClickHandler
  const platform = (yield* Platforms).of(event.payload.platform)
  const unstored = yield* makeResponder(platform, event, inbound, user.language)
  const stored = yield* answers.find(event.key)
  if (stored !== undefined)
    return yield* stored.alone ? unstored.replyPrivately(stored.words) : unstored.reply(stored.words)
  const responder = storedResponder(unstored, answers)
  const isClick = event.type === "integration.card.action"
  const handled = isClick
    ? clicks.handle(event, responder, platform.formValues(inbound))
    : handleMessage(event, responder, user)
  yield* Effect.catchTag(handled, "HubRefused", (refused) => {
    const words = phrases.refusalText(refused)
    return isClick ? responder.replyPrivately(words) : responder.reply(words)
  })
})
