/**
 * Run of a followed message: the state of the message, the wait until the Hub names the run or the message ends without one, and the text of each turn of
 * the agent as a message of the chat, where the project's policy allows it.
 *
 * Guarantees: a text is sent once, although the end of the run repeats the text of its last turn.
 */
import type { RunId, TaskId } from "@corral/domain/identity/Ids"
import type { ChatAnswers } from "@corral/domain/project/Project"
import type { EventOf } from "@corral/domain/run/RunEvent"
import type { Message } from "@corral/domain/session/Message"
import { Coalesced } from "@corral/service/Coalesced"
import { Effect, Schedule } from "effect"
import { createHash } from "node:crypto"
import { Hub } from "../hub/Hub.ts"
import { Platforms } from "../platform/ChatPlatform.ts"
import { answerText } from "./AnswerText.ts"
import { type Follow, Follows, followedOf } from "./Follows.ts"
import { type TaskProgress, hasTaskEnded, progressBeforeRun, progressWithoutRun } from "./TaskProgress.ts"

// State of one followed message while this Gateway follows it. A change of the progress requests an update of the card.

/** Up to 30 seconds between attempts, for failures of a platform, the Hub or the store. */
const retries = Schedule.min([Schedule.exponential("500 millis"), Schedule.spaced("30 seconds")])

const isTransient = ({ _tag }: { readonly _tag: string }): boolean =>
  _tag === "PlatformUnavailable" || _tag === "HubUnavailable" || _tag === "SqlError"

const retryAfterMsOf = (error: object): number =>
  "retryAfterMs" in error && typeof error.retryAfterMs === "number" ? error.retryAfterMs : 0

/** Retries failures that may be temporary, not before the time that a failure says. */
export const retryTransient = <A, E extends { readonly _tag: string }, R>(self: Effect.Effect<A, E, R>) => {
  const paced: Effect.Effect<A, E, R> = Effect.tapError(self, (error) => Effect.sleep(retryAfterMsOf(error)))
  return Effect.retry(paced, { schedule: retries, while: isTransient })
}

export class FollowState {
  current: Follow
  /** False after the platform has refused to update the card, because it is too old or was deleted. */
  isDrawable = true
  readonly changed: Coalesced

  private constructor(begin: Follow, changed: Coalesced) {
    this.current = begin
    this.changed = changed
  }

  static readonly make = (begin: Follow) =>
    Effect.map(Coalesced.make, (changed) => new FollowState(begin, changed))

  update(more: Partial<Follow>): void {
    this.current = { ...this.current, ...more }
  }

  setProgress(progress: TaskProgress): void {
    if (progress === this.current.progress) return
    this.update({ progress })
    this.requestDrawing()
  }

  requestDrawing(): void {
    this.changed.wake()
  }
}

export const saveFollow = Effect.fnUntraced(function* ({ current }: FollowState) {
  yield* (yield* Follows).advance(current.id, current)
})

// Texts of agents in chats: where the project's policy allows them.

const allows = (answers: ChatAnswers, direct: boolean): boolean =>
  answers === "all" || (answers === "direct" && direct)

/** Whether the chat of the follow shows what the agent writes. The account must be able to read the run. */
export const allowsAgentText = Effect.fn("FollowedRun.allowsText")(function* ({
  account,
  direct,
  runId
}: Follow) {
  if (runId === undefined) return false
  const hub = yield* Hub
  const { projectId } = yield* hub.as(account, ({ runs }) => runs.get({ params: { id: runId } }))
  const project = yield* hub.as(account, ({ projects }) => projects.get({ params: { id: projectId } }))
  return allows(project.chats.answers, direct)
})

/** Recognizes a text without storing it. */
export const textHash = (text: string): string =>
  createHash("sha256").update(text).digest("base64url").slice(0, 22)

/** Sends a text to the chat of the message. */
export const sendText = Effect.fnUntraced(function* ({ current }: FollowState, text: string, step: string) {
  const { account, chatId, id, replyTo, threadId } = current
  const platform = (yield* Platforms).of(account.platform)
  const where = { _tag: "Chat", chatId, replyTo, threadId } as const
  yield* platform.send(where, { _tag: "Text", text }, `${id}-${step}`)
})

/** Sends the text of a turn that has ended. */
export const sendTurnText = Effect.fn("FollowedRun.sendText")(
  function* (state: FollowState, { payload: { text, turn } }: EventOf<"run.turn.ended">) {
    const shown = answerText(text ?? "")
    if (shown === undefined || !(yield* retryTransient(allowsAgentText(state.current)))) return
    yield* retryTransient(sendText(state, shown, `turn-${turn}`))
    state.update({ progress: { ...state.current.progress, lastText: textHash(shown) } })
  },
  Effect.catchTag(["NotSent", "HubRefused"], () => Effect.void)
)

const FIRST_WAIT_MS = 200
/** While a machine is offline. */
const MAX_WAIT_MS = 5_000
/** While another turn is in progress, whose end the users of the chat see. */
const MAX_TURN_WAIT_MS = 2_000

/** The message as the Hub has it now; `undefined` for the task of an earlier release. */
const readMessage = Effect.fn("FollowedRun.readMessage")(function* ({ current }: FollowState) {
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
export const awaitRun = Effect.fn("FollowedRun.await")(function* (state: FollowState) {
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
export const returnsToTurn = Effect.fn("FollowedRun.returnsToTurn")(function* (
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
