/**
 * Decisions from a chat, by a button or by words. The Hub decides whether the person may, and who was first; here it is only said what came
 * of it.
 */
import { Context, Effect, Layer } from "effect"
import type { SqlError } from "effect/sql"
import { alreadyDecidedBy, toResolution } from "../following/ApprovalCard.ts"
import { ApprovalCards } from "../following/ApprovalCards.ts"
import type { StoredApprovalCard } from "../following/ApprovalCardStore.ts"
import { Follows } from "../following/Follows.ts"
import { Hub } from "../hub/Hub.ts"
import { type HubFailed } from "../hub/HubFailures.ts"
import type { PlatformUnavailable } from "../platform/ChatPlatform.ts"
import type { Words } from "../platform/Words.ts"
import * as phrases from "./Phrases.ts"
import type { Responder } from "./Responder.ts"

type Failed = HubFailed | PlatformUnavailable | SqlError.SqlError

export class Decisions extends Context.Service<
  Decisions,
  {
    /** Decides an approval. Undefined on success, which the card shows; otherwise the answer to the person. `before` runs before the card is drawn. */
    readonly decide: (
      speaker: Responder,
      card: StoredApprovalCard,
      decision: "allow" | "deny",
      before: Effect.Effect<void>
    ) => Effect.Effect<Words | undefined, Failed>
    /** Who has decided it; a refusal where the Hub does not show it to this person. */
    readonly describeDecision: (speaker: Responder, card: StoredApprovalCard) => Effect.Effect<Words, Failed>
  }
>()("corral/gateway/Deciding") {
  static readonly layer = Layer.effect(
    Decisions,
    Effect.gen(function* () {
      const cards = yield* ApprovalCards
      const follows = yield* Follows
      const hub = yield* Hub

      /** The decision is made whether or not its card can be drawn now: the follower draws it again from the log. */
      const settle = (...of: Parameters<typeof cards.settle>) =>
        Effect.catchTag(cards.settle(...of), ["NotSent", "PlatformUnavailable"], () => Effect.void)

      const decided = Effect.fnUntraced(function* (
        { account }: Responder,
        { approvalId, taskId }: StoredApprovalCard
      ) {
        const follow = yield* follows.get(taskId)
        const approval = yield* hub.as(account, ({ approvals }) =>
          approvals.get({ params: { id: approvalId } })
        )
        if (follow === undefined || approval.state === "pending") return alreadyDecidedBy(undefined)
        yield* settle(approvalId, toResolution(approval, approval.state))
        if (approval.state === "expired") return phrases.refusalText("approval_expired", "")
        return alreadyDecidedBy(yield* cards.nameOf(follow, approval.decidedBy))
      })

      return Decisions.of({
        describeDecision: decided,
        decide: Effect.fnUntraced(function* (speaker, card, decision, before) {
          const { approvalId } = card
          const answer = yield* hub
            .as(speaker.account, ({ approvals }) =>
              approvals.decide({
                params: { id: approvalId },
                headers: { "idempotency-key": speaker.key },
                payload: { decision, scope: "once" }
              })
            )
            .pipe(
              Effect.map((approval) => ({ approval })),
              Effect.catchTag("HubRefused", (refused) => Effect.succeed({ refused }))
            )
          yield* before
          if ("approval" in answer) {
            const { approval } = answer
            if (approval.state !== "pending")
              yield* settle(approvalId, toResolution(approval, approval.state))
            return undefined
          }
          const { code, message } = answer.refused
          if (code === "approval_already_resolved" || code === "approval_expired")
            return yield* decided(speaker, card)
          return phrases.refusalText(code, message)
        })
      })
    })
  )
}
