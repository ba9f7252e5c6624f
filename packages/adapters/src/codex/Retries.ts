/**
 * Failed model calls that Codex tries again: "Reconnecting... 1/5", with a type from the app-server, in words alone from `exec`.
 */
import type { DraftOf } from "@corral/domain/run/RunEvent"
import { capped } from "@corral/domain/text/CappedPattern"
import { textOf, type JsonObject } from "../text/Json.ts"
import { toRetryEvent } from "../output/RetryEvent.ts"
import { parseFailure, toCodexFailure } from "./CodexFailure.ts"

const ATTEMPT = capped(8_000, /^Reconnecting\.{3}(?: (\d+)\/(\d+))?(?: waiting for network)?(?: \((.*)\)$)?/s)

const numberIn = (text: string | undefined): number | undefined =>
  text === undefined ? undefined : Number(text)

/** A typed error of the app-server that will be tried again. */
export const toCodexRetry = (error: JsonObject): DraftOf<"runtime.retrying"> => {
  const message = textOf(error["message"]) ?? ""
  const [, attempt, maxAttempts] = ATTEMPT.exec(message) ?? []
  const said = textOf(error["additionalDetails"]) ?? message
  // The type of a retry says only that the stream ended; the details say why.
  const byWords = parseFailure(said)
  const isVague = byWords.details?.["reason"] === "runtime_error"
  return toRetryEvent({
    attempt: numberIn(attempt),
    maxAttempts: numberIn(maxAttempts),
    failure: isVague ? toCodexFailure({ ...error, message: said }) : byWords
  })
}

/** A line of `exec` about an attempt; `undefined` for any other error. */
export const parseRetry = (said: string): DraftOf<"runtime.retrying"> | undefined => {
  const [told, attempt, maxAttempts, words = ""] = ATTEMPT.exec(said) ?? []
  if (told === undefined) return undefined
  const failure = parseFailure(words)
  return toRetryEvent({ attempt: numberIn(attempt), maxAttempts: numberIn(maxAttempts), failure })
}
