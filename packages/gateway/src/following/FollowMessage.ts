/**
 * Following of one message in one chat to the end of its run: the card of the run, a card for each approval and question, and the agent's
 * answers where the project's policy allows them.
 *
 * Guarantees: another Gateway can continue at any point. The position is saved, and every message to the chat has its own key.
 */
import { Effect, Fiber, Queue } from "effect"
import { ButtonActions } from "../button/ButtonActions.ts"
import { Hub } from "../hub/Hub.ts"
import { localizedTextIn } from "../platform/LocalizedText.ts"
import { allowsAgentText } from "./AgentTexts.ts"
import { answerText } from "./AnswerText.ts"
import { ApprovalCards } from "./ApprovalCards.ts"
import { awaitRun, returnsToTurn } from "./AwaitedRun.ts"
import { phaseTitle } from "./RunCard.ts"
import { makeTaskCardUpdate } from "./TaskCardUpdate.ts"
import { followRun } from "./FollowRun.ts"
import type { Follow } from "./FollowRow.ts"
import { Follows } from "./Follows.ts"
import { FollowState, retryTransient, saveFollow } from "./FollowState.ts"
import { InputCards } from "./InputCards.ts"
import { sendText, textHash } from "./TurnText.ts"
import { startingProgress } from "./TaskProgress.ts"

/** Between two drawings of a card. Platforms allow five per second, for all callers together. */
const DRAWING_PAUSE = "1200 millis"

const ORDER_LOOKS = 60
const ORDER_PAUSE = "500 millis"

/** Waits until the answers to earlier messages are sent. Their runs have ended; their follows may know it a moment later. */
const awaitEarlier = Effect.fnUntraced(function* ({ current }: FollowState) {
  const follows = yield* Follows
  for (let looks = 0; looks < ORDER_LOOKS && (yield* follows.hasEarlier(current)); looks++)
    yield* Effect.sleep(ORDER_PAUSE)
})

/** Sends the agent's answer, if the project's policy allows it in this chat now. */
const sendAnswer = Effect.fnUntraced(function* (state: FollowState) {
  const { account, progress, runId } = state.current
  if (runId === undefined) return
  const hub = yield* Hub
  const { resultText = "" } = yield* hub.as(account, ({ runs }) => runs.get({ params: { id: runId } }))
  const text = answerText(resultText)
  // The text of the last turn is in the chat already.
  if (text === undefined || textHash(text) === progress.lastText) return
  if (!(yield* allowsAgentText(state.current))) return
  yield* awaitEarlier(state)
  yield* sendText(state, text, "answer")
})

/** Sends what the card does not show: the answer, or that the run in progress has the message. */
const sendOutcome = Effect.fn("FollowMessage.sendOutcome")(
  function* (state: FollowState) {
    const { language, progress } = state.current
    if (progress.phase === "completed") yield* sendAnswer(state)
    if (progress.phase === "sent")
      yield* sendText(state, localizedTextIn(phaseTitle(progress), language), "sent")
  },
  Effect.catchTag(["NotSent", "HubRefused"], () => Effect.void)
)

const followToEnd = Effect.fn("FollowMessage.followToEnd")(
  function* (state: FollowState) {
    do {
      yield* awaitRun(state)
      if (state.current.runId !== undefined) yield* followRun(state, state.current.runId)
    } while (yield* returnsToTurn(state, startingProgress))
  },
  (self, state) =>
    // The account may no longer read the run, or is no longer linked.
    Effect.catchTag(self, "HubRefused", () =>
      Effect.sync(() => state.setProgress({ ...state.current.progress, phase: "lost" }))
    )
)

export const followMessage = Effect.fn("FollowMessage.followMessage")(function* (begin: Follow) {
  const state = yield* FollowState.make(begin)
  const draw = yield* makeTaskCardUpdate(state)
  const drawing = yield* Queue.take(state.changed).pipe(
    Effect.andThen(retryTransient(draw)),
    Effect.andThen(Effect.sleep(DRAWING_PAUSE)),
    Effect.forever,
    Effect.forkChild
  )
  if (begin.messageId === undefined) state.requestDrawing()
  yield* followToEnd(state)
  yield* Fiber.interrupt(drawing)
  yield* retryTransient(draw)
  yield* retryTransient((yield* ApprovalCards).closeAll(state.current))
  yield* retryTransient((yield* InputCards).closeAll(state.current))
  yield* retryTransient(sendOutcome(state))
  yield* (yield* ButtonActions).expire(begin.id)
  state.update({ ended: true })
  yield* retryTransient(saveFollow(state))
})
