/**
 * Failed model calls that Codex retries: "Reconnecting... 1/5". The app-server also reports a type, `exec` only the text.
 */
import type { DraftOf } from "@corral/domain/run/RunEvent"
import { capped } from "@corral/domain/text/CappedPattern"
import { textOf, type JsonObject } from "../text/Json.ts"
import { toRetryEvent } from "../output/RetryEvent.ts"
import { parseFailure, toCodexFailure } from "./CodexFailure.ts"

const ATTEMPT = capped(8_000, /^Reconnecting\.{3}(?: (\d+)\/(\d+))?(?: waiting for network)?(?: \((.*)\)$)?/s)

const numberIn = (text: string | undefined): number | undefined =>
  text === undefined ? undefined : Number(text)

/** Retry from a typed error of the app-server. */
export const toCodexRetry = (error: JsonObject): DraftOf<"runtime.retrying"> => {
  const message = textOf(error["message"]) ?? ""
  const [, attempt, maxAttempts] = ATTEMPT.exec(message) ?? []
  const text = textOf(error["additionalDetails"]) ?? message
  // The type says only that the stream ended. The details say why.
  const fromText = parseFailure(text)
  const isVague = fromText.details?.["reason"] === "runtime_error"
  return toRetryEvent({
    attempt: numberIn(attempt),
    maxAttempts: numberIn(maxAttempts),
    failure: isVague ? toCodexFailure({ ...error, message: text }) : fromText
  })
}

/** Retry from an error line of `exec`; `undefined` for other errors. */
export const parseRetry = (message: string): DraftOf<"runtime.retrying"> | undefined => {
  const [match, attempt, maxAttempts, text = ""] = ATTEMPT.exec(message) ?? []
  if (match === undefined) return undefined
  const failure = parseFailure(text)
  return toRetryEvent({ attempt: numberIn(attempt), maxAttempts: numberIn(maxAttempts), failure })
}
