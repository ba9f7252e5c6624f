/** Answers to accounts that are not linked to a user, up to the hourly limit. Beyond the limit the Gateway does not call the platform. */
import type { CardAction, MessageReceived } from "@corral/domain/chat/Integration"
import { Effect } from "effect"
import type { Inbound } from "../platform/ChatPlatform.ts"
import { Platforms } from "../platform/Platforms.ts"
import { AccountLinks } from "./AccountLinks.ts"
import { parseCommand } from "./Command.ts"
import * as phrases from "./Phrases.ts"
import { accountOf, makeResponder } from "./Responder.ts"
import { StoredAnswers } from "./StoredAnswers.ts"
import { storedResponder } from "./StoredResponder.ts"
import { UnlinkedAnswers, type UnlinkedVerdict } from "./UnlinkedAnswers.ts"

export const handleUnlinked = Effect.fn("UnlinkedAccounts.handleUnlinked")(function* (
  event: MessageReceived | CardAction,
  inbound: Inbound
) {
  const links = yield* AccountLinks
  const account = accountOf(event)
  const direct = event.type === "integration.message.received" && event.payload.chatType === "direct"
  const command = direct ? parseCommand(event.payload.text) : undefined
  // Only in a direct chat: in a group, another user could type the number.
  const link = command?._tag === "Number" ? yield* links.link(account, command.digits) : undefined
  const verdict: UnlinkedVerdict =
    link?.isLinked === true ? { _tag: "Answer" } : yield* (yield* UnlinkedAnswers).count(account, event.key)
  if (verdict._tag === "Silence") return
  const platform = (yield* Platforms).of(event.payload.platform)
  const responder = yield* makeResponder(platform, event, inbound)
  if (link !== undefined) return yield* storedResponder(responder, yield* StoredAnswers).reply(link.words)
  if (verdict._tag === "LastAnswer")
    return yield* responder.replyPrivately(phrases.lastAnswer(verdict.minutes))
  if (command?._tag === "Help") return yield* responder.reply(phrases.help)
  yield* links
    .sendLink(event, responder)
    .pipe(
      Effect.catchTag("HubRefused", ({ code, message }) =>
        responder.replyPrivately(phrases.refusalText(code, message))
      )
    )
})
