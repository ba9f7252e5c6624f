/**
 * Links between accounts and users, from the chat: sends link pages, submits the numbers that users type, and takes the updates of bindings that the Hub
 * has for this Gateway. A user whose account is suspended learns in the direct chat how it acts again. The chat has said already that an account was
 * linked or unlinked there.
 *
 * Guarantees: an update stays at the Hub until it is handled. Does not: decide whether an account is linked, or as whom it acts. The Hub decides, with
 * the user's confirmation in a signed-in browser, and for each event.
 */
import {
  type BindingUpdated,
  type ChatAccount,
  type NextBindingUpdates,
  encodeChatAccount
} from "@corral/domain/chat/ChatAccount"
import type { BindingRequiredEvent, CardAction, MessageReceived } from "@corral/domain/chat/Integration"
import { type EventId, encodeUlid } from "@corral/domain/identity/Ids"
import { Context, Effect, Layer, Schema } from "effect"
import type { SqlError } from "effect/sql"
import { createHash } from "node:crypto"
import * as phrases from "../answer/Phrases.ts"
import { type Responder, sendKey } from "../answer/Responder.ts"
import { PATIENCE_MS } from "../handling/Workers.ts"
import { Hub, type HubRefused, HubUnavailable } from "../hub/Hub.ts"
import {
  type Card,
  type ChatPlatform,
  type LocalizedText,
  type PlatformUnavailable,
  Platforms,
  localizedTextIn
} from "../platform/ChatPlatform.ts"
import { type TimedStore, queryRow, timedStore } from "../store/RowQueries.ts"
import * as linkPhrases from "./LinkPhrases.ts"

interface LinkResult {
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

const PER_HOUR = 10
const HOUR_MS = 3_600_000

export type UnlinkedVerdict =
  | { readonly _tag: "Answer" }
  /** The last answer for `minutes`. */
  | { readonly _tag: "LastAnswer"; readonly minutes: number }
  | { readonly _tag: "Silence" }

/** Codec of the table `unlinked_answers`. */
const CountRow = Schema.Struct({
  began_at: Schema.Date,
  answers: Schema.Number,
  last_granted: Schema.Boolean
})

const CountRequest = Schema.Struct({ key: Schema.String, event: Schema.String })

/**
 * Rate limit for answers to an unlinked account: `PER_HOUR` answers, of which the last one says so. Further messages are recorded and not
 * answered.
 *
 * Guarantees: a retry of the same event gets the same verdict, and counts once.
 */
export class UnlinkedAnswers extends Context.Service<
  UnlinkedAnswers,
  {
    /** Verdict on one more event of the account. `event` is the event's key. */
    readonly count: (account: ChatAccount, event: string) => Effect.Effect<UnlinkedVerdict, SqlError.SqlError>
    readonly deleteOld: Effect.Effect<void, SqlError.SqlError>
  }
>()("corral/gateway/UnlinkedAnswers") {
  static readonly layer = Layer.effect(
    UnlinkedAnswers,
    Effect.gen(function* () {
      const store = yield* timedStore
      const { at, sql } = store
      const count = makeCount(store)
      return UnlinkedAnswers.of({
        count: Effect.fn("AccountLinks.count")(function* (account, event) {
          const row = yield* count({ key: encodeChatAccount(account), event })
          if (row === undefined || !row.last_granted) return { _tag: "Silence" }
          if (row.answers < PER_HOUR) return { _tag: "Answer" }
          const left = row.began_at.getTime() + HOUR_MS - at().getTime()
          return { _tag: "LastAnswer", minutes: Math.max(1, Math.ceil(left / 60_000)) }
        }),
        deleteOld: Effect.suspend(
          () => sql`DELETE FROM unlinked_answers WHERE began_at < ${at(-HOUR_MS)}`
        ).pipe(Effect.asVoid, Effect.withSpan("AccountLinks.deleteOld"))
      })
    })
  )
}

/** Statement that counts an event, unless it is a retry of the last one, and returns the count of the hour. */
const makeCount = ({ at, sql }: TimedStore) =>
  queryRow({
    Request: CountRequest,
    Result: CountRow,
    execute: ({ event, key }) => {
      const hourAgo = at(-HOUR_MS)
      const first = { key, began_at: at(), answers: 1, last_event: event, last_granted: true }
      return sql`
        INSERT INTO unlinked_answers AS u ${sql.insert(first)} ON CONFLICT (key) DO UPDATE SET
          began_at = CASE WHEN u.began_at <= ${hourAgo} THEN EXCLUDED.began_at ELSE u.began_at END,
          answers = CASE WHEN u.last_event = EXCLUDED.last_event THEN u.answers
            WHEN u.began_at <= ${hourAgo} THEN 1 ELSE least(u.answers + 1, ${PER_HOUR + 1}) END,
          last_granted = CASE WHEN u.last_event = EXCLUDED.last_event THEN u.last_granted
            ELSE u.began_at <= ${hourAgo} OR u.answers < ${PER_HOUR} END,
          last_event = EXCLUDED.last_event
        RETURNING began_at, answers, last_granted`
    }
  })

const POLL = "10 seconds"
/** Until a Hub that refuses is asked again: an earlier one has no updates. */
const PAUSE = "1 minute"

const handleUpdate = Effect.fn("AccountLinks.handleUpdate")(function* (
  platform: ChatPlatform,
  { key, payload: { account, state } }: BindingUpdated
) {
  yield* Effect.logInfo("binding updated", { platform: platform.id, state })
  if (state !== "suspended") return
  const { language = platform.language } = yield* platform.person(account.account)
  const text = localizedTextIn(linkPhrases.suspended, language)
  yield* platform
    .send({ _tag: "Person", userId: account.account }, { _tag: "Text", text }, sendKey(key, "suspended"))
    .pipe(
      Effect.catchTag("NotSent", ({ message }) =>
        Effect.logWarning("failed to send a binding update", { event: key, reason: message })
      )
    )
})

/** Handles what the Hub has, and returns what is handled. */
const handleNext = Effect.fnUntraced(function* (
  platform: ChatPlatform,
  delivered: NextBindingUpdates["delivered"]
) {
  const hub = yield* Hub
  const payload = { platform: platform.id, app: platform.app, delivered }
  const { items } = yield* hub.asGateway(({ integrations }) => integrations.bindingUpdates({ payload }))
  const handled: Array<NextBindingUpdates["delivered"][number]> = []
  for (const { bindingId, event } of items) {
    yield* handleUpdate(platform, event)
    handled.push({ bindingId, state: event.payload.state })
  }
  return handled
})

const followBot = (platform: ChatPlatform) =>
  Effect.gen(function* () {
    let delivered: NextBindingUpdates["delivered"] = []
    for (;;) {
      // Also at the start: a Hub in the same server may not take requests yet, and would leave this one open.
      if (delivered.length === 0) yield* Effect.sleep(POLL)
      delivered = yield* handleNext(platform, delivered)
    }
  }).pipe(
    Effect.catch((failure) =>
      Effect.logDebug("failed to read binding updates", {
        platform: platform.id,
        reason: failure.message
      }).pipe(Effect.andThen(failure._tag === "HubRefused" ? Effect.sleep(PAUSE) : Effect.void))
    ),
    Effect.forever
  )

/** Handles the updates of bindings that the Hub has for this Gateway. */
export const bindingUpdatesLayer = Layer.effectDiscard(
  Effect.gen(function* () {
    const { all } = yield* Platforms
    yield* Effect.forEach(all, (platform) => Effect.forkScoped(followBot(platform)), { discard: true })
  })
)
