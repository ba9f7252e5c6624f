/**
 * Decisions from a chat, by a button or by words. The Hub decides whether the person may, and who was first; here it is only said what came
 * of it.
 */
import type { Approval } from "@corral/domain/Approval"
import type { ApprovalId } from "@corral/domain/Ids"
import { Context, Effect, Layer } from "effect"
import type { SqlError } from "effect/sql"
import { decidedBy, type Settled, type SettledDecision } from "../following/ApprovalCard.ts"
import { ApprovalCards } from "../following/ApprovalCards.ts"
import { type AskedCard, type Follow, Follows } from "../following/Follows.ts"
import { Hub } from "../hub/Hub.ts"
import { type HubFailed } from "../hub/HubFailures.ts"
import type { PlatformUnavailable } from "../platform/ChatPlatform.ts"
import type { Words } from "../platform/Words.ts"
import * as phrases from "./Phrases.ts"
import type { Speaker } from "./Speaker.ts"

type Failed = HubFailed | PlatformUnavailable | SqlError.SqlError

export class Deciding extends Context.Service<
  Deciding,
  {
    /** Undefined where it was decided so, and the card shows it; else what the person is to be told. `before` the card is drawn anew. */
    readonly decide: (
      speaker: Speaker,
      card: AskedCard,
      decision: "allow" | "deny",
      before: Effect.Effect<void>
    ) => Effect.Effect<Words | undefined, Failed>
    /** Who has decided it, as far as that can be told. */
    readonly decided: (card: AskedCard) => Effect.Effect<Words, Failed>
  }
>()("corral/gateway/Deciding") {
  static readonly layer = Layer.effect(
    Deciding,
    Effect.gen(function* () {
      const cards = yield* ApprovalCards
      const follows = yield* Follows
      const hub = yield* Hub

      const settle = (...of: Parameters<typeof cards.settle>) =>
        Effect.catchTag(cards.settle(...of), "NotSent", () => Effect.void)

      /** As the Hub has it, asked for as who follows the run. */
      const found = Effect.fnUntraced(function* ({ account, runId }: Follow, approvalId: ApprovalId) {
        if (runId === undefined) return undefined
        const page = yield* hub.as(account, ({ runs }) =>
          runs.approvals({ params: { id: runId }, query: { limit: 200 } })
        )
        return page.items.find(({ id }) => id === approvalId)
      })

      const decided = Effect.fnUntraced(function* ({ approvalId, taskId }: AskedCard) {
        const follow = yield* follows.get(taskId)
        const approval = follow && (yield* Effect.orElseSucceed(found(follow, approvalId), () => undefined))
        if (follow === undefined || approval === undefined || approval.state === "pending")
          return decidedBy(undefined)
        yield* settle(approvalId, settledOf(approval, approval.state))
        if (approval.state === "expired") return phrases.refusal("approval_expired", "")
        return decidedBy(yield* cards.nameOf(follow, approval.decidedBy))
      })

      return Deciding.of({
        decided,
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
            if (approval.state !== "pending") yield* settle(approvalId, settledOf(approval, approval.state))
            return undefined
          }
          const { code, message } = answer.refused
          if (code === "approval_already_resolved" || code === "approval_expired") return yield* decided(card)
          return phrases.refusal(code, message)
        })
      })
    })
  )
}

const settledOf = ({ decidedBy: by, edited, origin, scope }: Approval, state: Settled): SettledDecision => ({
  state,
  by,
  ...(edited === undefined ? {} : { edited }),
  ...(origin === undefined ? {} : { origin }),
  ...(scope === undefined ? {} : { scope })
})
