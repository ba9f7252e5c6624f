/**
 * Handling of a click on a card: finds the action of its button and runs it.
 *
 * Guarantees: a button works only on its own message, for its audience, and until it expires.
 * Does not: check permissions. The Hub does.
 */
import type { CardAction } from "@corral/domain/chat/Integration"
import type { TaskId } from "@corral/domain/identity/Ids"
import { Context, Effect, Layer } from "effect"
import type { SqlError } from "effect/sql"
import { type ButtonAction, ButtonActions, type ButtonMeaning, subjectOf } from "../button/ButtonActions.ts"
import { acceptFromCard } from "../following/AcceptedChanges.ts"
import type { Follows } from "../following/Follows.ts"
import { ApprovalCardStore } from "../following/RequestCardStore.ts"
import { answerOfClick, answerOfText, textQuestion } from "../following/QuestionForm.ts"
import { HandlerFailed } from "../handling/Handler.ts"
import { PendingAnswers } from "../handling/PendingAnswers.ts"
import { Hub, type HubFailed, HubRefused } from "../hub/Hub.ts"
import type {
  FormValues,
  MessageRef,
  NotSent,
  PlatformUnavailable,
  Platforms
} from "../platform/ChatPlatform.ts"
import { AnswerOffer } from "./AnswerOffer.ts"
import { Answers, Decisions } from "./Answers.ts"
import { ChatMessages } from "./ChatMessages.ts"
import { stopMessage } from "./HubSessions.ts"
import { OfflineQuestion } from "./PendingMessages.ts"
import * as phrases from "../answer/Phrases.ts"
import type { Responder } from "../answer/Responder.ts"
import { WorkLocations } from "./WorkLocations.ts"

type Failed = HandlerFailed | HubFailed | NotSent | PlatformUnavailable | SqlError.SqlError

type Services =
  | AnswerOffer
  | Answers
  | ApprovalCardStore
  | ButtonActions
  | ChatMessages
  | Decisions
  | Follows
  | Hub
  | OfflineQuestion
  | PendingAnswers
  | Platforms
  | WorkLocations

type Meaning<Tag extends ButtonMeaning["_tag"]> = Extract<ButtonMeaning, { readonly _tag: Tag }>

export class ClickHandler extends Context.Service<
  ClickHandler,
  {
    /** `values`: what the click sent in the fields of its card. */
    readonly handle: (
      event: CardAction,
      responder: Responder,
      values: FormValues
    ) => Effect.Effect<void, Failed>
  }
>()("corral/gateway/ClickHandler") {
  static readonly layer = Layer.effect(
    ClickHandler,
    Effect.map(Effect.context<Services>(), (services) =>
      ClickHandler.of({
        handle: (event, responder, values) => Effect.provide(handleClick(event, responder, values), services)
      })
    )
  )
}

/** A click on a card that was sent a moment ago, whose message is not stored yet. */
const messageUnknown = () =>
  new HandlerFailed({ message: "A button was clicked before its message was known.", permanent: false })

/** Whether the click is on another message than the card's, such as a forwarded copy. */
const isOnOtherMessage = ({ payload }: CardAction, { chatId, messageId }: ButtonAction): boolean =>
  payload.messageId !== messageId || (payload.chatId !== undefined && payload.chatId !== chatId)

const handleClick = Effect.fn("ClickHandler.handle")(function* (
  event: CardAction,
  responder: Responder,
  values: FormValues
): Effect.fn.Return<void, Failed, Services> {
  const { account, replyPrivately } = responder
  const action = yield* (yield* ButtonActions).find(account, event.payload.actionId)
  if (action === undefined) return yield* replyPrivately(phrases.cardExpired)
  if (action.messageId === undefined) return yield* messageUnknown()
  if (isOnOtherMessage(event, action)) return yield* replyPrivately(phrases.cardElsewhere)
  if (action.audience !== undefined && action.audience !== account.account)
    return yield* replyPrivately(phrases.refusalText({ code: "permission_denied" }))
  const { isExpired, meaning } = action
  const answerSent = (yield* PendingAnswers).awaitSent(event.key, Date.parse(event.createdAt))
  switch (meaning._tag) {
    case "Decide":
      return yield* decide(responder, meaning, isExpired, answerSent)
    case "Answer":
      return yield* answer(responder, meaning, values, answerSent)
    case "Reply": {
      if (isExpired) return yield* replyPrivately(phrases.cardExpired)
      const { chatId = "", messageId } = action
      return yield* reply(responder, meaning, { chatId, messageId }, answerSent)
    }
    case "Finish":
      return yield* finish(responder, meaning)
    case "Accept": {
      if (isExpired) return yield* replyPrivately(phrases.cardExpired)
      yield* answerSent
      const problem = yield* acceptFromCard(responder, meaning)
      return problem === undefined ? undefined : yield* replyPrivately(problem)
    }
    case "Cancel":
      return yield* cancel(responder, meaning.taskId, isExpired)
    case "Stop":
      return yield* stop(responder, meaning)
    case "Queue": {
      if (isExpired) return yield* replyPrivately(phrases.cardExpired)
      yield* answerSent
      const { chatId = "", messageId } = action
      return yield* answerOffline(responder, meaning, { chatId, messageId })
    }
    case "Use": {
      if (isExpired) return yield* replyPrivately(phrases.cardExpired)
      yield* answerSent
      return yield* chooseLocation(responder, meaning, action.chatId ?? "")
    }
  }
})

const decide = Effect.fnUntraced(function* (
  responder: Responder,
  { approvalId, decision }: Meaning<"Decide">,
  isExpired: boolean,
  answerSent: Effect.Effect<void>
) {
  const decisions = yield* Decisions
  const card = yield* (yield* ApprovalCardStore).get(approvalId)
  if (card === undefined) return yield* responder.replyPrivately(phrases.cardExpired)
  if (isExpired || card.state !== "pending") {
    yield* answerSent
    return yield* responder.replyPrivately(yield* decisions.describeDecision(responder, card))
  }
  const answer = yield* decisions.decide(responder, card, decision, answerSent)
  if (answer !== undefined) yield* responder.replyPrivately(answer)
})

/** The card shows an answer that was accepted. */
const answer = Effect.fnUntraced(function* (
  responder: Responder,
  { how, inputId }: Meaning<"Answer">,
  values: FormValues,
  beforeDrawing: Effect.Effect<void>
) {
  const problem = yield* (yield* Answers).answer(responder, {
    inputId,
    answerTo: (request) => answerOfClick(request, how, values),
    beforeDrawing
  })
  if (problem !== undefined) yield* responder.replyPrivately(problem)
})

/** A message becomes the answer to a question, or goes to the agent. */
const reply = Effect.fnUntraced(function* (
  responder: Responder,
  meaning: Meaning<"Reply">,
  card: MessageRef,
  answerSent: Effect.Effect<void>
) {
  const { base, inputId, isAnswer, message: messageKey, talk } = meaning
  const offers = yield* AnswerOffer
  const message = yield* offers.find(talk, messageKey)
  if (message === undefined) return yield* responder.replyPrivately(phrases.cardExpired)
  if (isAnswer) {
    const problem = yield* (yield* Answers).answer(responder, {
      inputId,
      answerTo: (request) => {
        const question = textQuestion(request)
        return question === undefined ? { answers: {} } : answerOfText(question, message.text)
      },
      beforeDrawing: answerSent
    })
    // The author can still send the text as a message.
    if (problem !== undefined) return yield* responder.replyPrivately(problem)
  } else {
    yield* answerSent
    const { inputId: _, ...sendable } = message
    const key = { key: talk, chatKey: base, chatId: card.chatId }
    yield* (yield* ChatMessages).send(key, responder, sendable)
  }
  yield* (yield* ButtonActions).expire(subjectOf(meaning))
  yield* offers.settle(talk, messageKey, card, responder, isAnswer)
})

/** A run that was finished shows it on its card. */
const finish = Effect.fnUntraced(function* (
  { account, replyPrivately }: Responder,
  { runId }: Meaning<"Finish">
) {
  const hub = yield* Hub
  yield* hub
    .as(account, ({ runs }) => runs.finish({ params: { id: runId } }))
    .pipe(
      Effect.asVoid,
      Effect.catchIf(
        (error) => error instanceof HubRefused && error.code === "conflict",
        () => replyPrivately(phrases.notIdle)
      )
    )
})

const cancel = Effect.fnUntraced(function* (
  { account, replyPrivately }: Responder,
  taskId: TaskId,
  isExpired: boolean
) {
  const hub = yield* Hub
  if (isExpired) {
    // Fails for a user who may not read the task.
    yield* hub.as(account, ({ tasks }) => tasks.get({ params: { id: taskId } }))
    return yield* replyPrivately(phrases.refusalText({ code: "run_not_cancellable" }))
  }
  yield* hub.as(account, ({ tasks }) => tasks.cancel({ params: { id: taskId } }))
})

/** A stopped message shows it on its card. */
const stop = Effect.fnUntraced(function* (responder: Responder, message: Meaning<"Stop">) {
  const isStopped = yield* stopMessage(responder, message)
  if (!isStopped) yield* responder.replyPrivately(phrases.refusalText({ code: "run_not_cancellable" }))
})

/** Whether the messages of a conversation wait for their offline machine. */
const answerOffline = Effect.fnUntraced(function* (
  responder: Responder,
  meaning: Meaning<"Queue">,
  card: MessageRef
) {
  const { agreed, base, talk } = meaning
  const messages = yield* ChatMessages
  const key = { key: talk, chatKey: base, chatId: card.chatId }
  yield* agreed ? messages.queue(key, responder) : messages.discard(key)
  yield* (yield* ButtonActions).expire(subjectOf(meaning))
  yield* (yield* OfflineQuestion).settle(card, responder, agreed)
})

const chooseLocation = Effect.fnUntraced(function* (
  responder: Responder,
  { base, place, talk }: Meaning<"Use">,
  chatId: string
) {
  if (!(yield* (yield* WorkLocations).isOffered(responder.account, place)))
    return yield* responder.replyPrivately(phrases.noSuchLocation)
  yield* (yield* ChatMessages).useLocation({ key: talk, chatKey: base, chatId }, responder, place)
  yield* (yield* ButtonActions).expire(talk)
})
