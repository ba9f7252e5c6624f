/**
 * Following of one task in one chat to its end: the task's card, an approval card per request, and the agent's final answer in a direct chat.
 *
 * Guarantees: another Gateway can continue at any point. The position is saved, and every message has its own key.
 */
import { Effect, Fiber, Queue } from "effect"
import { ButtonActions } from "../action/ButtonActions.ts"
import { Hub } from "../hub/Hub.ts"
import { Platforms } from "../platform/Platforms.ts"
import { answerText } from "./AnswerText.ts"
import { ApprovalCards } from "./ApprovalCards.ts"
import { makeTaskCardUpdate } from "./TaskCardUpdate.ts"
import { awaitRun, followTaskRun } from "./FollowRun.ts"
import type { Follow } from "./FollowRow.ts"
import { FollowState, retryTransient, saveFollow } from "./FollowState.ts"

/** Between two drawings of a card. Platforms allow five per second, for all callers together. */
const DRAWING_PAUSE = "1200 millis"

/** Sends the agent's answer to a chat without other readers. */
const sendAnswer = Effect.fn("FollowTask.sendAnswer")(
  function* ({ current }: FollowState) {
    const { account, chatId, direct, progress, replyTo, runId, taskId, threadId } = current
    if (!direct || runId === undefined || progress.phase !== "completed") return
    const hub = yield* Hub
    const { resultText } = yield* hub.as(account, ({ runs }) => runs.get({ params: { id: runId } }))
    const text = answerText(resultText ?? "")
    if (text === undefined) return
    const where = { _tag: "Chat", chatId, replyTo, threadId } as const
    const platform = (yield* Platforms).of(account.platform)
    yield* platform.send(where, { _tag: "Text", text }, `${taskId}-answer`)
  },
  Effect.catchTag(["NotSent", "HubRefused"], () => Effect.void)
)

const followToEnd = Effect.fn("FollowTask.followToEnd")(
  function* (state: FollowState) {
    yield* awaitRun(state)
    if (state.current.runId !== undefined) yield* followTaskRun(state, state.current.runId)
  },
  (self, state) =>
    // The account may no longer read the run, or is no longer linked.
    Effect.catchTag(self, "HubRefused", () =>
      Effect.sync(() => state.setProgress({ ...state.current.progress, phase: "lost" }))
    )
)

export const followTask = Effect.fn("followTask")(function* (begin: Follow) {
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
  yield* retryTransient(sendAnswer(state))
  yield* (yield* ButtonActions).expire(begin.taskId)
  state.update({ ended: true })
  yield* retryTransient(saveFollow(state))
})
