/**
 * Questions, forms and plans as cards in a chat. A card is sent once. When the request is resolved, anywhere, the card shows who answered.
 *
 * Does not: decide who may answer. The Hub does. Texts of agents stay at the Hub: each drawing reads them there.
 */
import type { InputRequestId } from "@corral/domain/identity/Ids"
import type { InputRequest, RequestedInput } from "@corral/domain/input/InputRequest"
import { Clock, Context, Effect, Layer } from "effect"
import type { SqlError } from "effect/sql"
import { ButtonActions } from "../button/ButtonActions.ts"
import { Hub, type HubUnavailable } from "../hub/Hub.ts"
import { type NotSent, type PlatformUnavailable, Platforms } from "../platform/ChatPlatform.ts"
import { nameOfUser, type UserNames } from "./UserNames.ts"
import { allowsAgentText } from "./FollowedRun.ts"
import { type Follow, Follows } from "./Follows.ts"
import { type InputEnd, inputEndOf, openInputCard, resolvedInputCard, waysToAnswer } from "./InputCard.ts"
import { InputCardStore, type StoredInputCard } from "./RequestCardStore.ts"
import type { CardAnswer } from "./QuestionForm.ts"
import { sendRequestCard } from "./NewCard.ts"

type Failed = SqlError.SqlError | NotSent | PlatformUnavailable

type Services = ButtonActions | Follows | Hub | InputCardStore | Platforms | UserNames

/** Buttons of a question without an expiry. */
const LIFETIME_MS = 14 * 86_400_000

export class InputCards extends Context.Service<
  InputCards,
  {
    /** Sends the card to the chat of a follow. Does nothing if it was sent, or is resolved. `expiresAt` is ISO 8601. */
    readonly show: (
      follow: Follow,
      inputId: InputRequestId,
      request: RequestedInput,
      expiresAt: string | undefined
    ) => Effect.Effect<void, Failed | HubUnavailable>
    /** Draws a card as resolved. */
    readonly settle: (inputId: InputRequestId, end: InputEnd) => Effect.Effect<void, Failed>
    /** Draws every open card of a followed message as resolved: its run has ended, or is no longer followed. */
    readonly closeAll: (follow: Follow) => Effect.Effect<void, SqlError.SqlError | PlatformUnavailable>
  }
>()("corral/gateway/InputCards") {
  static readonly layer = Layer.effect(
    InputCards,
    Effect.map(Effect.context<Services>(), (services) => {
      const provide = Effect.provide(services)
      return InputCards.of({
        show: (follow, inputId, request, expiresAt) => provide(show(follow, inputId, request, expiresAt)),
        settle: (inputId, end) => provide(settle(inputId, end)),
        closeAll: (follow) => provide(closeAll(follow))
      })
    })
  )
}

/** The request as the Hub has it; `undefined` if the account may no longer read it. */
const readInput = Effect.fn("InputCards.readInput")(function* (
  { account }: Follow,
  id: InputRequestId
): Effect.fn.Return<InputRequest | undefined, never, Hub> {
  const hub = yield* Hub
  return yield* hub
    .as(account, ({ inputs }) => inputs.get({ params: { id } }))
    .pipe(Effect.orElseSucceed(() => undefined))
})

const cardInput = (
  { language, place }: Follow,
  { summary }: StoredInputCard,
  request: RequestedInput | undefined,
  url: string
) => ({ kind: summary.kind, language, place, request: summary.isShown ? request : undefined, url })

const pageOf = ({ runId, sessionId }: Follow): string =>
  sessionId === undefined ? `/runs/${runId ?? ""}` : `/sessions/${sessionId}`

const settle = Effect.fn("InputCards.settle")(function* (inputId: InputRequestId, end: InputEnd) {
  const cards = yield* InputCardStore
  yield* (yield* ButtonActions).expire(inputId)
  yield* cards.resolve(inputId, end.state)
  const card = yield* cards.get(inputId)
  const follow = card && (yield* (yield* Follows).get(card.followId))
  if (card?.messageId === undefined || follow === undefined) return
  const { account, chatId } = follow
  const request = card.summary.isShown ? yield* readInput(follow, inputId) : undefined
  const input = cardInput(follow, card, request, (yield* Hub).page(pageOf(follow)))
  const updated = resolvedInputCard(input, end, yield* nameOfUser(follow, end.by))
  const platform = (yield* Platforms).of(account.platform)
  yield* platform.update({ chatId, messageId: card.messageId }, updated)
})

/** Settles a request with the Hub's resolution, or as cancelled if the Hub has none. */
const closeOne = Effect.fn("InputCards.closeOne")(function* (follow: Follow, inputId: InputRequestId) {
  const input = yield* readInput(follow, inputId)
  const end: InputEnd =
    input === undefined || input.state === "pending" ? { state: "cancelled" } : inputEndOf(input, input.state)
  yield* Effect.catchTag(settle(inputId, end), "NotSent", () => Effect.void)
})

const closeAll = Effect.fn("InputCards.closeAll")(function* (follow: Follow) {
  const pending = yield* (yield* InputCardStore).pendingOf(follow.id)
  yield* Effect.forEach(pending, (inputId) => closeOne(follow, inputId), { discard: true })
})

const keyOf = (how: CardAnswer): string => (typeof how === "string" ? how : `option ${how.option}`)

/** Ids of the buttons, by the way to answer. */
const offerButtons = Effect.fn("InputCards.offerButtons")(function* (
  { account }: Follow,
  inputId: InputRequestId,
  ways: ReadonlyArray<CardAnswer>,
  expiresAt: string | undefined
) {
  const actions = yield* ButtonActions
  const now = yield* Clock.currentTimeMillis
  const ends = expiresAt === undefined ? now + LIFETIME_MS : Date.parse(expiresAt)
  const ids = yield* Effect.forEach(ways, (how) =>
    Effect.map(
      actions.offer({ bot: account, meaning: { _tag: "Answer", inputId, how }, expiresAt: ends }),
      (id) => [keyOf(how), id] as const
    )
  )
  return new Map(ids)
})

const show = Effect.fn("InputCards.show")(function* (
  follow: Follow,
  inputId: InputRequestId,
  request: RequestedInput,
  expiresAt: string | undefined
) {
  const store = yield* InputCardStore
  const isShown = yield* Effect.catchTag(allowsAgentText(follow), "HubRefused", () => Effect.succeed(false))
  const summary = { kind: request.kind, isShown }
  const stored = yield* store.open({ id: inputId, followId: follow.id, summary })
  const { messageId, state } = stored
  // The response to an earlier attempt may have been lost. Only a card with a known message is known to be drawn.
  if (messageId !== undefined && state !== "pending") return
  const input = cardInput(follow, stored, request, (yield* Hub).page(pageOf(follow)))
  const ways = input.request === undefined ? [] : waysToAnswer(input.request)
  const ids = yield* offerButtons(follow, inputId, ways, expiresAt)
  const card =
    state === "pending"
      ? openInputCard(input, (how) => ids.get(keyOf(how)) ?? "")
      : resolvedInputCard(input, { state }, undefined)
  const resolved = yield* sendRequestCard(follow, { store, stored, card, actionIds: [...ids.values()] })
  if (resolved !== undefined) yield* settle(inputId, { state: resolved })
})
