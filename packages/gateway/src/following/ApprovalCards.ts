/**
 * Approvals as cards in a chat: shown once, and drawn anew without buttons when they are decided, wherever that was.
 *
 * The Hub decides who may decide. A card is only where somebody is asked.
 */
import type { ApprovalRequest } from "@corral/domain/approval/Approval"
import type { ApprovalId } from "@corral/domain/identity/Ids"
import { Context, Effect, Layer } from "effect"
import type { SqlError } from "effect/sql"
import { ButtonActions } from "../action/ButtonActions.ts"
import { UserNames } from "../hub/UserNames.ts"
import { Hub } from "../hub/Hub.ts"
import type { NotSent, PlatformUnavailable } from "../platform/ChatPlatform.ts"
import { Platforms } from "../platform/Platforms.ts"
import {
  summarizeApproval,
  pendingCard,
  resolvedCard,
  type Resolution,
  toResolution
} from "./ApprovalCard.ts"
import { type Follow, Follows } from "./Follows.ts"
import { newCard } from "./NewCard.ts"

type Failed = SqlError.SqlError | NotSent | PlatformUnavailable

export class ApprovalCards extends Context.Service<
  ApprovalCards,
  {
    /** Asks in the chat of a follow; nothing where that was done, or is decided already. `expiresAt` is ISO 8601. */
    readonly show: (
      follow: Follow,
      approvalId: ApprovalId,
      request: ApprovalRequest,
      expiresAt: string
    ) => Effect.Effect<void, Failed>
    /** It is decided. */
    readonly settle: (approvalId: ApprovalId, decision: Resolution) => Effect.Effect<void, Failed>
    /** Draws every card of a task that still asks as it ended: the task has ended, or is no longer followed. */
    readonly closeAll: (follow: Follow) => Effect.Effect<void, SqlError.SqlError | PlatformUnavailable>
    /** The name of somebody in the eyes of who follows; undefined where it cannot be told. */
    readonly nameOf: (
      follow: Follow,
      by: string | undefined
    ) => Effect.Effect<string | undefined, SqlError.SqlError>
  }
>()("corral/gateway/ApprovalCards") {
  static readonly layer = Layer.effect(
    ApprovalCards,
    Effect.gen(function* () {
      const actions = yield* ButtonActions
      const follows = yield* Follows
      const hub = yield* Hub
      const people = yield* UserNames
      const platforms = yield* Platforms

      /** Somebody who never acted from a chat is found among the members of the run's project. */
      const lookUp = Effect.fnUntraced(function* ({ account, runId }: Follow, by: string) {
        if (runId === undefined) return undefined
        const members = yield* hub.as(account, ({ projects, runs }) =>
          Effect.flatMap(runs.get({ params: { id: runId } }), ({ projectId }) =>
            projects.members({ params: { id: projectId }, query: { limit: 200 } })
          )
        )
        return members.items.find(({ userId }) => userId === by)?.name
      })
      const nameOf = Effect.fnUntraced(function* (follow: Follow, by: string | undefined) {
        const met = yield* people.nameOf(by)
        if (met !== undefined || by?.startsWith("usr_") !== true) return met
        return yield* Effect.orElseSucceed(lookUp(follow, by), () => undefined)
      })

      const settle = Effect.fnUntraced(function* (approvalId: ApprovalId, decision: Resolution) {
        yield* actions.expire(approvalId)
        yield* follows.resolveCard(approvalId, decision.state)
        const card = yield* follows.card(approvalId)
        const follow = card && (yield* follows.get(card.taskId))
        if (card?.messageId === undefined || follow === undefined) return
        const { account, chatId, language, place } = follow
        const url = hub.page(`/approvals/${approvalId}`)
        const drawn = resolvedCard(
          { summary: card.summary, language, place, url },
          decision,
          yield* nameOf(follow, decision.by)
        )
        yield* platforms.of(account.platform).update({ chatId, messageId: card.messageId }, drawn)
      })

      /** How it ended in the eyes of who follows; cancelled where the Hub does not say. */
      const closeOne = Effect.fnUntraced(function* ({ account }: Follow, approvalId: ApprovalId) {
        const found = yield* hub
          .as(account, (calls) => calls.approvals.get({ params: { id: approvalId } }))
          .pipe(Effect.orElseSucceed(() => undefined))
        const decision =
          found === undefined || found.state === "pending"
            ? { state: "cancelled" as const }
            : toResolution(found, found.state)
        yield* Effect.catchTag(settle(approvalId, decision), "NotSent", () => Effect.void)
      })

      return ApprovalCards.of({
        nameOf,
        closeAll: (follow) =>
          Effect.flatMap(follows.pendingApprovals(follow.taskId), (pending) =>
            Effect.forEach(pending, (approvalId) => closeOne(follow, approvalId), { discard: true })
          ),
        show: Effect.fnUntraced(function* (follow, approvalId, request, expiresAt) {
          const { account, chatId, language, place, replyTo, taskId, threadId } = follow
          const { summary, isNew, messageId, state } = yield* follows.openCard({
            approvalId,
            taskId,
            summary: summarizeApproval(request)
          })
          // A response may have been lost: only a card whose message is known is known to be drawn.
          if (messageId !== undefined && state !== "pending") return
          const offer = (decision: "allow" | "deny") =>
            actions.offer({
              bot: account,
              meaning: { _tag: "Decide", approvalId, decision },
              expiresAt: Date.parse(expiresAt)
            })
          const ids = { allow: yield* offer("allow"), deny: yield* offer("deny") }
          const drawn = { summary, language, place, url: hub.page(`/approvals/${approvalId}`) }
          const card =
            state === "pending" ? pendingCard(drawn, ids) : resolvedCard(drawn, { state }, undefined)
          const platform = platforms.of(account.platform)
          const where = { _tag: "Chat", chatId, replyTo, threadId } as const
          const sent =
            messageId === undefined
              ? yield* newCard(platform, { where, card, key: approvalId, repeated: !isNew }, (message) =>
                  Effect.andThen(
                    actions.attach([ids.allow, ids.deny], message),
                    follows.setCardMessage(approvalId, message.messageId)
                  )
                )
              : { message: { chatId, messageId }, drawn: false }
          const now = yield* follows.card(approvalId)
          // Decided by words while the card was on its way: then no button may appear.
          if (now !== undefined && now.state !== state && now.state !== "pending")
            return yield* settle(approvalId, { state: now.state })
          if (!sent.drawn) yield* platform.update(sent.message, card)
        }),
        settle
      })
    })
  )
}
