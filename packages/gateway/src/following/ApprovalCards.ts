/**
 * Approvals as cards in a chat. A card is sent once. When the approval is resolved, anywhere, the card is drawn again without buttons.
 *
 * Does not: decide who may decide. The Hub does.
 */
import type { ApprovalRequest } from "@corral/domain/approval/Approval"
import type { ApprovalId } from "@corral/domain/identity/Ids"
import { Context, Effect, Layer } from "effect"
import type { SqlError } from "effect/sql"
import { ButtonActions } from "../button/ButtonActions.ts"
import { Hub } from "../hub/Hub.ts"
import { nameOfUser, type UserNames } from "./UserNames.ts"
import { type NotSent, type PlatformUnavailable, Platforms } from "../platform/ChatPlatform.ts"
import {
  pendingCard,
  resolvedCard,
  type CardResolution,
  summarizeApproval,
  toResolution
} from "./ApprovalCard.ts"
import { ApprovalCardStore } from "./RequestCardStore.ts"
import { type Follow, Follows } from "./Follows.ts"
import { sendRequestCard } from "./NewCard.ts"

type Failed = SqlError.SqlError | NotSent | PlatformUnavailable

type Services = ApprovalCardStore | ButtonActions | Follows | Hub | Platforms | UserNames

export class ApprovalCards extends Context.Service<
  ApprovalCards,
  {
    /** Sends the card to the chat of a follow. Does nothing if it was sent, or is resolved. `expiresAt` is ISO 8601. */
    readonly show: (
      follow: Follow,
      approvalId: ApprovalId,
      request: ApprovalRequest,
      expiresAt: string
    ) => Effect.Effect<void, Failed>
    /** Draws a card as resolved. */
    readonly settle: (approvalId: ApprovalId, resolution: CardResolution) => Effect.Effect<void, Failed>
    /** Draws every pending card of a followed message as resolved: its run has ended, or is no longer followed. */
    readonly closeAll: (follow: Follow) => Effect.Effect<void, SqlError.SqlError | PlatformUnavailable>
    /** A user's name, if the follow's account may see it. */
    readonly nameOf: (
      follow: Follow,
      userId: string | undefined
    ) => Effect.Effect<string | undefined, SqlError.SqlError>
  }
>()("corral/gateway/ApprovalCards") {
  static readonly layer = Layer.effect(
    ApprovalCards,
    Effect.map(Effect.context<Services>(), (services) => {
      const provide = Effect.provide(services)
      return ApprovalCards.of({
        show: (follow, approvalId, request, expiresAt) =>
          provide(show(follow, approvalId, request, expiresAt)),
        settle: (approvalId, resolution) => provide(settle(approvalId, resolution)),
        closeAll: (follow) => provide(closeAll(follow)),
        nameOf: (follow, userId) => provide(nameOfUser(follow, userId))
      })
    })
  )
}

const pageOf = (hub: (typeof Hub)["Service"], approvalId: ApprovalId) => hub.page(`/approvals/${approvalId}`)

const settle = Effect.fn("ApprovalCards.settle")(function* (
  approvalId: ApprovalId,
  resolution: CardResolution
) {
  const cards = yield* ApprovalCardStore
  const follows = yield* Follows
  yield* (yield* ButtonActions).expire(approvalId)
  yield* cards.resolve(approvalId, resolution.state)
  const card = yield* cards.get(approvalId)
  const follow = card && (yield* follows.get(card.followId))
  if (card?.messageId === undefined || follow === undefined) return
  const { account, chatId, language, place } = follow
  const url = pageOf(yield* Hub, approvalId)
  const name = yield* nameOfUser(follow, resolution.by)
  const updated = resolvedCard({ summary: card.summary, language, place, url }, resolution, name)
  const platform = (yield* Platforms).of(account.platform)
  yield* platform.update({ chatId, messageId: card.messageId }, updated)
})

/** Settles an approval with the Hub's resolution, or as cancelled if the Hub has none. */
const closeOne = Effect.fn("ApprovalCards.closeOne")(function* ({ account }: Follow, approvalId: ApprovalId) {
  const hub = yield* Hub
  const approval = yield* hub
    .as(account, (calls) => calls.approvals.get({ params: { id: approvalId } }))
    .pipe(Effect.orElseSucceed(() => undefined))
  const resolution =
    approval === undefined || approval.state === "pending"
      ? { state: "cancelled" as const }
      : toResolution(approval, approval.state)
  yield* Effect.catchTag(settle(approvalId, resolution), "NotSent", () => Effect.void)
})

const closeAll = Effect.fn("ApprovalCards.closeAll")(function* (follow: Follow) {
  const pending = yield* (yield* ApprovalCardStore).pendingOf(follow.id)
  yield* Effect.forEach(pending, (approvalId) => closeOne(follow, approvalId), { discard: true })
})

const offerButtons = Effect.fn("ApprovalCards.offerButtons")(function* (
  { account }: Follow,
  approvalId: ApprovalId,
  expiresAt: string
) {
  const actions = yield* ButtonActions
  const offer = (decision: "allow" | "deny") =>
    actions.offer({
      bot: account,
      meaning: { _tag: "Decide", approvalId, decision },
      expiresAt: Date.parse(expiresAt)
    })
  return { allow: yield* offer("allow"), deny: yield* offer("deny") }
})

const show = Effect.fn("ApprovalCards.show")(function* (
  follow: Follow,
  approvalId: ApprovalId,
  request: ApprovalRequest,
  expiresAt: string
) {
  const store = yield* ApprovalCardStore
  const { id: followId, language, place } = follow
  const stored = yield* store.open({ id: approvalId, followId, summary: summarizeApproval(request) })
  const { messageId, state, summary } = stored
  // The response to an earlier attempt may have been lost. Only a card with a known message is known to be drawn.
  if (messageId !== undefined && state !== "pending") return
  const ids = yield* offerButtons(follow, approvalId, expiresAt)
  const input = { summary, language, place, url: pageOf(yield* Hub, approvalId) }
  const card = state === "pending" ? pendingCard(input, ids) : resolvedCard(input, { state }, undefined)
  const resolved = yield* sendRequestCard(follow, { store, stored, card, actionIds: [ids.allow, ids.deny] })
  if (resolved !== undefined) yield* settle(approvalId, { state: resolved })
})
