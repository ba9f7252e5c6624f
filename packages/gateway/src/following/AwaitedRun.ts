/** Wait for the run of a followed message: until the Hub names it, or the message ends without one. */
import type { RunId, TaskId } from "@corral/domain/identity/Ids"
import type { Message } from "@corral/domain/session/Message"
import { Effect } from "effect"
import { Hub } from "../hub/Hub.ts"
import { followedOf, Follows } from "./Follows.ts"
import { type FollowState, retryTransient } from "./TurnText.ts"
import { hasTaskEnded, progressBeforeRun, progressWithoutRun, type TaskProgress } from "./TaskProgress.ts"

const FIRST_WAIT_MS = 200
/** While a machine is offline. */
const MAX_WAIT_MS = 5_000
/** While another turn is in progress, whose end the users of the chat see. */
const MAX_TURN_WAIT_MS = 2_000

/** The message as the Hub has it now; `undefined` for the task of an earlier release. */
export const readMessage = Effect.fn("AwaitedRun.readMessage")(function* ({ current }: FollowState) {
  const followed = followedOf(current)
  if ("taskId" in followed) return undefined
  const { messageId, sessionId: id } = followed
  const hub = yield* Hub
  return yield* retryTransient(
    hub.as(current.account, ({ sessions }) => sessions.message({ params: { id, messageId } }))
  )
})

const readTask = Effect.fnUntraced(function* ({ current: { account } }: FollowState, id: TaskId) {
  const hub = yield* Hub
  return yield* retryTransient(hub.as(account, ({ tasks }) => tasks.get({ params: { id } })))
})

/**
 * Follows the run from its beginning. A run that is older than the message received it as its next turn, and is followed from now on: what
 * happened before is not of this chat.
 */
const joinRun = Effect.fnUntraced(function* (state: FollowState, runId: RunId, { createdAt }: Message) {
  const hub = yield* Hub
  const run = yield* retryTransient(
    hub.as(state.current.account, ({ runs }) => runs.get({ params: { id: runId } }))
  )
  const isOlder = Date.parse(run.createdAt) < Date.parse(createdAt)
  state.update({ runId, ...(isOlder ? { seq: run.lastSeq } : {}) })
})

/** Progress after one more look at the message. A message that was sent a moment ago has no task yet and is still starting. */
const lookAtMessage = Effect.fnUntraced(function* (state: FollowState, message: Message, isFirst: boolean) {
  const { progress } = state.current
  const { delivery, when } = message
  if (delivery?.state === "delivered" && when === "next" && delivery.runId !== undefined) {
    if (yield* (yield* Follows).hasRun(state.current, delivery.runId))
      return { ...progress, phase: "sent" as const }
    yield* joinRun(state, delivery.runId, message)
    return delivery.context === "transcript" ? { ...progress, transcript: true } : progress
  }
  const task =
    delivery?.state === "pending" && delivery.taskId !== undefined
      ? yield* readTask(state, delivery.taskId)
      : undefined
  const next = progressBeforeRun(progress, message, task)
  return isFirst && next.phase === "turn" ? progress : next
})

const look = Effect.fnUntraced(function* (state: FollowState, isFirst: boolean) {
  const message = yield* readMessage(state)
  if (message !== undefined) return yield* lookAtMessage(state, message, isFirst)
  const followed = followedOf(state.current)
  const { progress } = state.current
  if (!("taskId" in followed)) return progress
  const task = yield* readTask(state, followed.taskId)
  if (task.runId === undefined) return progressWithoutRun(progress, task)
  state.update({ runId: task.runId })
  return progress
})

const longestWait = ({ phase }: TaskProgress): number => (phase === "queued" ? MAX_WAIT_MS : MAX_TURN_WAIT_MS)

/** Waits until the run is known, or the message has ended without one. */
export const awaitRun = Effect.fn("AwaitedRun.awaitRun")(function* (state: FollowState) {
  let wait = FIRST_WAIT_MS
  let isFirst = true
  while (state.current.runId === undefined && !hasTaskEnded(state.current.progress)) {
    state.setProgress(yield* look(state, isFirst))
    isFirst = false
    if (state.current.runId !== undefined || hasTaskEnded(state.current.progress)) return
    yield* Effect.sleep(wait)
    wait = Math.min(wait * 1.5, longestWait(state.current.progress))
  }
})

/**
 * Whether the message is delivered again after its run failed: a runtime that can't continue its conversation receives it as a text, in
 * another run. Then the state is that of a message without a run.
 */
export const returnsToTurn = Effect.fn("AwaitedRun.returnsToTurn")(function* (
  state: FollowState,
  before: TaskProgress
) {
  const { progress, runId } = state.current
  if (progress.phase !== "failed") return false
  const message = yield* readMessage(state)
  const delivery = message?.delivery
  if (delivery === undefined || delivery.context !== "transcript") return false
  if (delivery.state === "delivered" && delivery.runId === runId) return false
  state.update({ runId: undefined, seq: 0 })
  state.setProgress(before)
  return true
})
