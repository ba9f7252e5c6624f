/**
 * Text of each turn of an agent as a message of the chat, where the project's policy allows it.
 *
 * Guarantees: a text is sent once, although the end of the run repeats the text of its last turn.
 */
import type { EventOf } from "@corral/domain/run/RunEvent"
import { Effect } from "effect"
import { createHash } from "node:crypto"
import { Platforms } from "../platform/Platforms.ts"
import { allowsAgentText } from "./AgentTexts.ts"
import { answerText } from "./AnswerText.ts"
import { type FollowState, retryTransient } from "./FollowState.ts"

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
