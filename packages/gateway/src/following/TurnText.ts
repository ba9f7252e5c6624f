/**
 * Text of each turn of an agent as a message of the chat, where the project's policy allows it. Also the state of the followed message, and the check
 * of the policy.
 *
 * Guarantees: a text is sent once, although the end of the run repeats the text of its last turn.
 */
import { Coalesced } from "@corral/service/Coalesced"
import type { EventOf } from "@corral/domain/run/RunEvent"
import { Effect, Schedule } from "effect"
import { createHash } from "node:crypto"
import { Platforms } from "../platform/ChatPlatform.ts"
import { answerText } from "./AnswerText.ts"
import type { ChatAnswers } from "@corral/domain/project/Project"
import { Hub } from "../hub/Hub.ts"
import { type Follow, Follows } from "./Follows.ts"
import type { TaskProgress } from "./TaskProgress.ts"

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
export const allowsAgentText = Effect.fn("TurnText.allows")(function* ({ account, direct, runId }: Follow) {
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
export const sendTurnText = Effect.fn("TurnText.send")(
  function* (state: FollowState, { payload: { text, turn } }: EventOf<"run.turn.ended">) {
    const shown = answerText(text ?? "")
    if (shown === undefined || !(yield* retryTransient(allowsAgentText(state.current)))) return
    yield* retryTransient(sendText(state, shown, `turn-${turn}`))
    state.update({ progress: { ...state.current.progress, lastText: textHash(shown) } })
  },
  Effect.catchTag(["NotSent", "HubRefused"], () => Effect.void)
)
