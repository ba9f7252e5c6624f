/**
 * Links accounts to people: from the chat's side it names the account and says what the person typed. What that comes to is decided by the
 * Hub, and by the person in a browser where they are signed in.
 */
import { encodeUlid, type EventId } from "@corral/domain/Ids"
import type { BindingRequired, CardAction, MessageReceived } from "@corral/domain/Integration"
import { Context, Effect, Layer } from "effect"
import { createHash } from "node:crypto"
import { Hub } from "../hub/Hub.ts"
import type { HubRefused, HubUnavailable } from "../hub/HubFailures.ts"
import type { Card } from "../platform/Card.ts"
import type { PlatformUnavailable } from "../platform/ChatPlatform.ts"
import * as phrases from "./Phrases.ts"
import { sendKey, type Speaker } from "./Speaker.ts"

type Failed = HubUnavailable | HubRefused | PlatformUnavailable

const requiredOf = (
  event: MessageReceived | CardAction,
  { account, key }: Speaker,
  names: { readonly name?: string | undefined; readonly tenantName?: string | undefined }
): BindingRequired => {
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

const linkCard = (url: string, language: Card["language"]): Card => ({
  language,
  title: phrases.linkTitle,
  tone: "attention",
  lines: phrases.linkLines,
  buttons: [{ _tag: "Link", label: phrases.openLink, url }]
})

export class Binding extends Context.Service<
  Binding,
  {
    /** Sends a link to the direct chat with the person, never to a group. `asked`: they have asked for it, and are told why there is none. */
    readonly start: (
      event: MessageReceived | CardAction,
      speaker: Speaker,
      asked: boolean
    ) => Effect.Effect<void, Failed>
    /** The number that the link's page shows. */
    readonly bind: (speaker: Speaker, number: string) => Effect.Effect<void, Failed>
    readonly unbind: (speaker: Speaker) => Effect.Effect<void, Failed>
  }
>()("corral/gateway/Binding") {
  static readonly layer = Layer.effect(
    Binding,
    Effect.gen(function* () {
      const hub = yield* Hub
      return Binding.of({
        start: Effect.fnUntraced(function* (event, speaker, asked) {
          const { account, key, platform, tell } = speaker
          const names = yield* platform.person(account.account)
          const receipt = yield* hub
            .as(account, ({ integrations }) =>
              integrations.event({ payload: requiredOf(event, speaker, names) })
            )
            .pipe(
              Effect.catchTag("HubRefused", (refused) =>
                refused.code === "rate_limited" ? Effect.undefined : Effect.fail(refused)
              )
            )
          if (receipt?.link === undefined) return asked ? yield* tell(phrases.tooManyLinks) : undefined
          yield* platform
            .send(
              { _tag: "Person", userId: account.account },
              { _tag: "Card", card: linkCard(receipt.link.url, speaker.language) },
              // Each has an address of its own.
              sendKey(key, receipt.link.url)
            )
            .pipe(
              Effect.catchTag("NotSent", ({ message }) =>
                Effect.logWarning("a link could not be sent", { event: key, reason: message })
              )
            )
        }),
        bind: Effect.fnUntraced(function* ({ account, say }, number) {
          const words = yield* hub
            .as(account, ({ integrations }) => integrations.bind({ payload: { ...account, number } }))
            .pipe(
              Effect.andThen(
                Effect.map(
                  hub.as(account, ({ auth }) => auth.me()),
                  ({ user }) => phrases.linked(user.name)
                )
              ),
              Effect.catchTag("HubRefused", (refused) => {
                if (refused.code !== "binding_required") return Effect.fail(refused)
                const { triesLeft } = refused.details
                return Effect.succeed(
                  phrases.wrongNumber(typeof triesLeft === "number" ? triesLeft : undefined)
                )
              })
            )
          yield* say(words)
        }),
        unbind: Effect.fnUntraced(function* ({ account, say }) {
          yield* hub.as(account, ({ integrations }) => integrations.unbind({ payload: account }))
          yield* say(phrases.unlinked)
        })
      })
    })
  )
}
