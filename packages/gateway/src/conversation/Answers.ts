/**
 * Decisions on approvals and answers to questions from a chat, by button, command, card or text: submits them to the Hub and answers with the outcome, or
 * says what was wrong.
 *
 * Guarantees: sends what the person chose or wrote. A text that does not fit changes nothing.
 * Does not: check permissions, or which decision or answer was first. The Hub does.
 */
import type { InputRequestId } from "@corral/domain/identity/Ids"
import type { InputAnswer, InputRequest } from "@corral/domain/input/InputRequest"
import { Context, Effect, Layer } from "effect"
import type { SqlError } from "effect/sql"
import * as phrases from "../answer/Phrases.ts"
import type { Responder } from "../answer/Responder.ts"
import { alreadyDecidedBy, toResolution } from "../following/ApprovalCard.ts"
import { ApprovalCards } from "../following/ApprovalCards.ts"
import { Follows } from "../following/Follows.ts"
import { alreadyAnswered, inputEndOf } from "../following/InputCard.ts"
import { InputCards } from "../following/InputCards.ts"
import { nameOfUser, type UserNames } from "../following/UserNames.ts"
import { answerProblem } from "../following/QuestionForm.ts"
import { InputCardStore, type StoredApprovalCard } from "../following/RequestCardStore.ts"
import { Hub, type HubFailed, type HubRefused } from "../hub/Hub.ts"
import { type LocalizedText, type PlatformUnavailable, sameInAllLanguages } from "../platform/ChatPlatform.ts"

type Failed = HubFailed | PlatformUnavailable | SqlError.SqlError

type Services = Follows | Hub | InputCards | InputCardStore | UserNames

interface ChatAnswer {
  readonly inputId: InputRequestId
  /** The answer to the request as the Hub has it. */
  readonly answerTo: (request: InputRequest) => InputAnswer
  /** Runs before the card is drawn. */
  readonly beforeDrawing: Effect.Effect<void>
}

/**
 * Answers to questions from a chat, by card or by text: submits them to the Hub and says what was wrong.
 *
 * Guarantees: sends what the person chose or wrote. A text that does not fit changes nothing.
 * Does not: check permissions, or which answer was first. The Hub does.
 */
export class Answers extends Context.Service<
  Answers,
  {
    /** Answers a request. Undefined on success, which the card shows; otherwise what to tell the user. */
    readonly answer: (
      responder: Responder,
      answer: ChatAnswer
    ) => Effect.Effect<LocalizedText | undefined, Failed>
  }
>()("corral/gateway/Answers") {
  static readonly layer = Layer.effect(
    Answers,
    Effect.map(Effect.context<Services>(), (services) =>
      Answers.of({
        answer: (responder, chatAnswer) => Effect.provide(answer(responder, chatAnswer), services)
      })
    )
  )
}

/** Draws the card. A failure is ignored, because the follower draws the card again from the run's log. */
const settle = Effect.fn("Answers.settle")(function* (input: InputRequest) {
  if (input.state === "pending") return
  const cards = yield* InputCards
  yield* Effect.catchTag(
    cards.settle(input.id, inputEndOf(input, input.state)),
    ["NotSent", "PlatformUnavailable"],
    () => Effect.void
  )
})

/** Who answered, for a user who may read the request. */
const describe = Effect.fn("Answers.describe")(function* ({ account }: Responder, id: InputRequestId) {
  const hub = yield* Hub
  const input: InputRequest = yield* hub.as(account, ({ inputs }) => inputs.get({ params: { id } }))
  if (input.state === "pending") return alreadyAnswered(undefined, undefined)
  yield* settle(input)
  if (input.state === "expired") return phrases.refusalText({ code: "input_expired" })
  const card = yield* (yield* InputCardStore).get(id)
  const follow = card && (yield* (yield* Follows).get(card.followId))
  const name = follow === undefined ? undefined : yield* nameOfUser(follow, input.answeredBy)
  return alreadyAnswered(inputEndOf(input, input.state), name)
})

/** The first issue of an answer that the Hub refused. */
const issueText = (refused: HubRefused): LocalizedText => {
  const { issues } = refused.details
  const [first]: ReadonlyArray<unknown> = Array.isArray(issues) ? issues : []
  const message: unknown = Reflect.get(Object(first), "message")
  return typeof message === "string" ? sameInAllLanguages(message) : phrases.refusalText(refused)
}

const answer = Effect.fn("Answers.answer")(function* (
  responder: Responder,
  { answerTo, beforeDrawing, inputId }: ChatAnswer
): Effect.fn.Return<LocalizedText | undefined, Failed, Services> {
  const hub = yield* Hub
  const params = { id: inputId }
  const request: InputRequest = yield* hub.as(responder.account, ({ inputs }) => inputs.get({ params }))
  if (request.state !== "pending") {
    yield* beforeDrawing
    return yield* describe(responder, inputId)
  }
  const payload = answerTo(request)
  const problem = answerProblem(request, payload)
  if (problem !== undefined) return sameInAllLanguages(problem)
  const outcome = yield* hub
    .as(responder.account, ({ inputs }) =>
      inputs.answer({ params, headers: { "idempotency-key": responder.key }, payload })
    )
    .pipe(
      Effect.map((input) => ({ input })),
      Effect.catchTag("HubRefused", (refused) => Effect.succeed({ refused }))
    )
  yield* beforeDrawing
  if ("input" in outcome) {
    yield* settle(outcome.input)
    return undefined
  }
  const { code } = outcome.refused
  if (code === "input_already_resolved" || code === "input_expired")
    return yield* describe(responder, inputId)
  return code === "schema_validation_failed"
    ? issueText(outcome.refused)
    : phrases.refusalText(outcome.refused)
})

/**
 * Decisions on approvals from a chat, by button or command: submits them to the Hub and answers with the outcome.
 *
 * Does not: check permissions, or which decision was first. The Hub does.
 */
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

      const describeDecision = Effect.fn("Answers.describeDecision")(function* (
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
        decide: Effect.fn("Answers.decide")(function* (responder, card, decision, beforeDrawing) {
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
