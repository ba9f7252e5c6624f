/** Responder that stores the final answer before it is sent, so that a retry sends the answer and does not repeat the action. */
import { Effect } from "effect"
import { PlatformUnavailable } from "../platform/ChatPlatform.ts"
import type { LocalizedText } from "../platform/LocalizedText.ts"
import type { Responder } from "./Responder.ts"
import type { StoredAnswers } from "./StoredAnswers.ts"

/** Answers with a step are not final and are not stored. */
export const storedResponder = (
  responder: Responder,
  answers: (typeof StoredAnswers)["Service"]
): Responder => {
  const store = (words: LocalizedText, alone: boolean) =>
    Effect.mapError(
      answers.store(responder.key, { words, alone }),
      () => new PlatformUnavailable({ message: "The answer could not be stored." })
    )
  return {
    ...responder,
    reply: (words, step) =>
      step === undefined
        ? Effect.andThen(store(words, false), responder.reply(words))
        : responder.reply(words, step),
    replyPrivately: (words, step) =>
      step === undefined
        ? Effect.andThen(store(words, true), responder.replyPrivately(words))
        : responder.replyPrivately(words, step)
  }
}
