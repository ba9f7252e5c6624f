/**
 * Decisions on approvals from a chat, by button or command: submits them to the Hub and answers with the outcome.
 *
 * Does not: check permissions, or which decision was first. The Hub does.
 */
import { Context, Effect, Layer } from "effect"
import type { SqlError } from "effect/sql"
import { alreadyDecidedBy, toResolution } from "../following/ApprovalCard.ts"
import { ApprovalCards } from "../following/ApprovalCards.ts"
import type { StoredApprovalCard } from "../following/RequestCardStore.ts"
import { Follows } from "../following/Follows.ts"
import { Hub, type HubFailed } from "../hub/Hub.ts"
import type { PlatformUnavailable } from "../platform/ChatPlatform.ts"
import type { LocalizedText } from "../platform/Card.ts"
import * as phrases from "../answer/Phrases.ts"
import type { Responder } from "../answer/Responder.ts"

type Failed = HubFailed | PlatformUnavailable | SqlError.SqlError

export class Decisions extends Context.Service<
  Decisions,
  {
    /** Decides an approval. Undefined on success, which the card shows; otherwise the answer to the user. `beforeDrawing` runs before the card is drawn. */
    readonly decide: (
      responder: Responder,
      card: StoredApprovalCard,
      decision: "allow" | "deny",
      beforeDrawing: Effect.Effect<void>
    ) => Effect.Effect<LocalizedText | undefined, Failed>
    /** The user who decided an approval, or a refusal if the responder's user may not read it. */
    readonly describeDecision: (
      responder: Responder,
      card: StoredApprovalCard
    ) => Effect.Effect<LocalizedText, Failed>
  }
>()("corral/gateway/Decisions") {
  static readonly layer = Layer.effect(
    Decisions,
    Effect.gen(function* () {
      const cards = yield* ApprovalCards
      const follows = yield* Follows
      const hub = yield* Hub

      /** Draws the card. A failure is ignored, because the follower draws the card again from the run's log. */
      const settle = (...parameters: Parameters<typeof cards.settle>) =>
        Effect.catchTag(cards.settle(...parameters), ["NotSent", "PlatformUnavailable"], () => Effect.void)

      const describeDecision = Effect.fn("Decisions.describeDecision")(function* (
        { account }: Responder,
        { followId, id: approvalId }: StoredApprovalCard
      ) {
        const follow = yield* follows.get(followId)
        const approval = yield* hub.as(account, ({ approvals }) =>
          approvals.get({ params: { id: approvalId } })
        )
        if (follow === undefined || approval.state === "pending") return alreadyDecidedBy(undefined)
        yield* settle(approvalId, toResolution(approval, approval.state))
        if (approval.state === "expired") return phrases.refusalText({ code: "approval_expired" })
        return alreadyDecidedBy(yield* cards.nameOf(follow, approval.decidedBy))
      })

      return Decisions.of({
        describeDecision,
        decide: Effect.fn("Decisions.decide")(function* (responder, card, decision, beforeDrawing) {
          const { id: approvalId } = card
          const answer = yield* hub
            .as(responder.account, ({ approvals }) =>
              approvals.decide({
                params: { id: approvalId },
                headers: { "idempotency-key": responder.key },
                payload: { decision, scope: "once" }
              })
            )
            .pipe(
              Effect.map((approval) => ({ approval })),
              Effect.catchTag("HubRefused", (refused) => Effect.succeed({ refused }))
            )
          yield* beforeDrawing
          if ("approval" in answer) {
            const { approval } = answer
            if (approval.state !== "pending")
              yield* settle(approvalId, toResolution(approval, approval.state))
            return undefined
          }
          const { code } = answer.refused
          if (code === "approval_already_resolved" || code === "approval_expired")
            return yield* describeDecision(responder, card)
          return phrases.refusalText(answer.refused)
        })
      })
    })
  )
}
