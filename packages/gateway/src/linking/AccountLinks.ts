/**
 * Links between accounts and users, from the chat: sends link pages, and submits the numbers that users type.
 *
 * Does not: decide whether an account is linked. The Hub decides, with the user's confirmation in a signed-in browser.
 */
import { encodeUlid, type EventId } from "@corral/domain/identity/Ids"
import type { ChatAccount } from "@corral/domain/chat/ChatAccount"
import type { BindingRequiredEvent, CardAction, MessageReceived } from "@corral/domain/chat/Integration"
import { Context, Effect, Layer } from "effect"
import { createHash } from "node:crypto"
import { PATIENCE_MS } from "../handling/RetryPolicy.ts"
import { Hub, type HubRefused, HubUnavailable } from "../hub/Hub.ts"
import type { Card, LocalizedText } from "../platform/Card.ts"
import type { PlatformUnavailable } from "../platform/ChatPlatform.ts"
import * as linkPhrases from "./LinkPhrases.ts"
import * as phrases from "../answer/Phrases.ts"
import { sendKey, type Responder } from "../answer/Responder.ts"

export interface LinkResult {
  readonly isLinked: boolean
  readonly words: LocalizedText
}

type Failed = HubUnavailable | HubRefused | PlatformUnavailable

const bindingRequired = (
  event: MessageReceived | CardAction,
  { account, key }: Responder,
  names: { readonly name?: string | undefined; readonly tenantName?: string | undefined }
): BindingRequiredEvent => {
  const hash = createHash("sha256").update(`${event.id} binding`).digest()
  const { platform, app, tenant, account: senderId } = account
  return {
    id: `evt_${encodeUlid(Date.parse(event.createdAt), hash.subarray(0, 10))}` as EventId,
    seq: event.seq,
    type: "identity.binding.required",
    key: `${key}:binding`.slice(0, 255),
    createdAt: event.createdAt,
    payload: {
      v: 1,
      platform,
      app,
      tenant,
      senderId,
      chatId: event.payload.chatId ?? senderId,
      ...(names.name === undefined ? {} : { senderName: names.name }),
      ...(names.tenantName === undefined ? {} : { tenantName: names.tenantName })
    }
  }
}

const linkCard = (url: string, language: Card["language"], isKept: boolean): Card => ({
  language,
  title: linkPhrases.linkTitle,
  tone: "attention",
  lines: isKept ? [...linkPhrases.linkLines, linkPhrases.firstMessageKept] : linkPhrases.linkLines,
  buttons: [{ _tag: "Link", label: linkPhrases.openPage, url }]
})

export class AccountLinks extends Context.Service<
  AccountLinks,
  {
    /** Sends a link, or the reason for a refusal, to the user's direct chat, never to a group. `isKept`: a message waits for the link. */
    readonly sendLink: (
      event: MessageReceived | CardAction,
      responder: Responder,
      isKept: boolean
    ) => Effect.Effect<void, Failed>
    /** Links the account with the number from the link's page. Returns the answer. */
    readonly link: (account: ChatAccount, number: string) => Effect.Effect<LinkResult, Failed>
    readonly unlink: (responder: Responder) => Effect.Effect<void, Failed>
  }
>()("corral/gateway/AccountLinks") {
  static readonly layer = Layer.effect(
    AccountLinks,
    Effect.gen(function* () {
      const hub = yield* Hub
      return AccountLinks.of({
        sendLink: Effect.fn("AccountLinks.sendLink")(function* (event, responder, isKept) {
          const { account, key, platform, reply, replyPrivately } = responder
          const names = yield* platform.person(account.account)
          const receipt = yield* hub
            .as(account, ({ integrations }) =>
              integrations.event({ payload: bindingRequired(event, responder, names) })
            )
            .pipe(
              Effect.catchTag("HubUnavailable", (error) =>
                (error.retryAfterMs ?? 0) > PATIENCE_MS ? Effect.succeed(error) : Effect.fail(error)
              )
            )
          if (receipt instanceof HubUnavailable)
            return yield* replyPrivately(
              linkPhrases.tooManyLinks(Math.ceil((receipt.retryAfterMs ?? 0) / 60_000))
            )
          // The account was linked since the event.
          if (receipt.link === undefined) return
          yield* platform
            .send(
              { _tag: "Person", userId: account.account },
              { _tag: "Card", card: linkCard(receipt.link.url, responder.language, isKept) },
              // The key differs per link.
              sendKey(key, receipt.link.url)
            )
            .pipe(
              Effect.asVoid,
              Effect.catchTag("NotSent", ({ message }) =>
                Effect.andThen(
                  Effect.logWarning("failed to send a link", { event: key, reason: message }),
                  reply(linkPhrases.noDirectChat, "no-direct-chat")
                )
              )
            )
        }),
        link: Effect.fn("AccountLinks.link")((account, number) =>
          hub
            .as(account, ({ integrations }) => integrations.bind({ payload: { ...account, number } }))
            .pipe(
              Effect.andThen(
                Effect.map(
                  hub.as(account, ({ auth }) => auth.me()),
                  ({ user }) => ({ isLinked: true, words: linkPhrases.linked(user.name) })
                )
              ),
              Effect.catchTag("HubRefused", (refused) => {
                const { triesLeft } = refused.details
                const words =
                  refused.code === "binding_required"
                    ? linkPhrases.wrongNumber(typeof triesLeft === "number" ? triesLeft : undefined)
                    : phrases.refusalText(refused)
                return Effect.succeed({ isLinked: false, words })
              })
            )
        ),
        unlink: Effect.fn("AccountLinks.unlink")(function* ({ account, reply }) {
          yield* hub.as(account, ({ integrations }) => integrations.unbind({ payload: account }))
          yield* reply(linkPhrases.unlinked)
        })
      })
    })
  )
}
