/**
 * Answers to accounts that are not linked to a user, up to the hourly limit. Beyond the limit the Gateway does not call the platform. The first
 * text for the agent is kept.
 */
import type { CardAction, MessageReceived } from "@corral/domain/chat/Integration"
import { Effect } from "effect"
import type { Inbound } from "../platform/ChatPlatform.ts"
import { Platforms } from "../platform/Platforms.ts"
import { AccountLinks } from "../linking/AccountLinks.ts"
import { parseCommand } from "./Command.ts"
import { KeptMessages } from "../linking/KeptMessages.ts"
import * as linkPhrases from "../linking/LinkPhrases.ts"
import * as phrases from "../answer/Phrases.ts"
import { accountOf, makeResponder, type Responder } from "../answer/Responder.ts"
import { StoredAnswers } from "../answer/StoredAnswers.ts"
import { storedResponder } from "../answer/StoredResponder.ts"
import { UnlinkedAnswers, type UnlinkedVerdict } from "../linking/UnlinkedAnswers.ts"

/** Returns whether the account is linked now. */
export const handleUnlinked = Effect.fn("UnlinkedAccounts.handleUnlinked")(function* (
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
