/**
 * Failure of a run of Codex, from its typed error, from the error's text, or from stderr at the exit. Also failed model calls that Codex retries
 * ("Reconnecting... 1/5"), and the variables of the environment that Codex receives.
 *
 * Exit codes are ignored: the app-server always exits with 0.
 */
import { missingVariable, reasonOfStatus, toRetryEvent } from "../output/ServiceFailure.ts"
import { runtimeFailure } from "../output/OutputCollector.ts"
import { beginningOf } from "../text/FirstLine.ts"
import { countOf, isJsonObject, type JsonObject, objectOf, parseObject, textOf } from "../text/Json.ts"
import type { RunFailure } from "@corral/domain/run/Run"
import type { DraftOf } from "@corral/domain/run/RunEvent"
import type { ProcessEnd } from "@corral/domain/run/RuntimeAdapter"
import { capped } from "@corral/domain/text/CappedPattern"

// Variables of the Edge's environment that Codex receives: settings of Codex, keys of model services, proxies.

export const codexEnvironment: ReadonlyArray<string> = [
  "CODEX_*",
  "OPENAI_*",
  "AZURE_OPENAI_*",
  "HTTP_PROXY",
  "HTTPS_PROXY",
  "NO_PROXY",
  "http_proxy",
  "https_proxy",
  "no_proxy"
]

const sentences: Readonly<Record<string, string>> = {
  not_signed_in:
    "Codex is not signed in. Run `codex login` on this machine, or set the API key of its model provider.",
  bad_credentials:
    "Codex's credentials were refused. Run `codex login` on this machine, or correct the API key.",
  rate_limited:
    "The model service refused the request because of its rate limit. Wait a moment, then start the run again.",
  usage_limit:
    "The usage limit of Codex's account is reached. Wait until it is reset, or use another account.",
  overloaded: "The model service is overloaded. Try again in a moment.",
  server_error: "The model service failed. Try again in a moment.",
  unreachable: "Codex could not reach the model service. Check the network, proxy and base URL.",
  connection_lost: "Lost the connection to the model service during an answer. Start the run again.",
  request_refused: "The model service refused the request.",
  unknown_model: "The model service does not know the model. Choose another one.",
  context_window: "The conversation is longer than the model can read. Start a new run instead.",
  sandbox_failed: "Codex's sandbox does not work on this machine.",
  session_in_use: "Another process of Codex uses this conversation. End it, or start a new run.",
  unknown_session: "Codex can't find the conversation to resume. Start a new run instead.",
  protocol_refused: "Codex refused a request of its protocol. Check its version.",
  bad_option: "Codex refused an option that it was started with. Check its version.",
  bad_config: "Codex cannot read its configuration. Correct its config.toml.",
  untrusted_workspace: "Codex doesn't run in this folder: it isn't a trusted git repository.",
  command_missing: "Codex was not found on this machine. Install it, or correct its path."
}

const MAX_DETAIL = 1_000

/** Codex prints the whole URL of a request. Parts that may be secret are removed. */
const withoutUrls = (text: string): string =>
  beginningOf(text, MAX_DETAIL).replaceAll(/\b(https?|wss?):\/\/(?:[^\s/@]*@)?([^\s/?#]*)\S*/g, "$1://$2")

const failure = (reason: string, text: string, details: Readonly<Record<string, unknown>> = {}): RunFailure =>
  runtimeFailure(reason, sentences[reason] ?? "Codex failed.", {
    ...details,
    ...(text === "" ? {} : { said: withoutUrls(text) })
  })

const reasonByType = new Map([
  ["unauthorized", "bad_credentials"],
  ["usageLimitExceeded", "usage_limit"],
  ["rateLimitExceeded", "rate_limited"],
  ["serverOverloaded", "overloaded"],
  ["contextWindowExceeded", "context_window"],
  ["badRequest", "request_refused"],
  ["modelNotFound", "unknown_model"],
  ["internalServerError", "server_error"],
  ["sandboxError", "sandbox_failed"],
  ["httpConnectionFailed", "unreachable"],
  ["responseStreamConnectionFailed", "unreachable"],
  ["responseStreamDisconnected", "connection_lost"]
])

const reasonPatterns: ReadonlyArray<readonly [RegExp, string]> = [
  [/Missing environment variable|not (logged|signed) in|run `?codex login/i, "not_signed_in"],
  [/no rollout found for thread id|thread not found/i, "unknown_session"],
  [/already has an active writer/, "session_in_use"],
  [/usage limit/i, "usage_limit"],
  [/\boverloaded\b|at capacity/i, "overloaded"],
  [/high demand/i, "server_error"],
  [/context window/i, "context_window"],
  [/Connection failed|error sending request/i, "unreachable"],
  [/stream disconnected/i, "connection_lost"]
]

/** Whether a text is an error of the model service that Codex passes on. */
const isServiceError = (text: string): boolean => isJsonObject(parseObject(text)?.["error"])

/** Failure from the text of an error. */
export const parseFailure = (text: string): RunFailure => {
  const status = Number(/\bstatus:? (\d{3})\b/.exec(text)?.[1] ?? Number.NaN)
  if (!Number.isNaN(status)) return failure(reasonOfStatus(status), text, { status })
  const missing = missingVariable("Codex", text, codexEnvironment)
  if (missing !== undefined) return missing
  const reason = reasonPatterns.find(([pattern]) => pattern.test(text))?.[1]
  if (reason !== undefined) return failure(reason, text)
  if (isServiceError(text)) return failure("request_refused", text)
  // A reason of the runtime. Its text explains more than ours.
  return runtimeFailure("runtime_error", text === "" ? "Codex failed and gave no reason." : withoutUrls(text))
}

/** Failure from a typed error of the app-server: `{message, codexErrorInfo}`. */
export const toCodexFailure = (error: JsonObject): RunFailure => {
  const message = textOf(error["message"]) ?? ""
  const info = error["codexErrorInfo"]
  const [type = "", fields] = isJsonObject(info) ? (Object.entries(info)[0] ?? []) : [textOf(info)]
  const status = countOf(objectOf(fields)["httpStatusCode"])
  if (status !== undefined) return failure(reasonOfStatus(status), message, { status })
  const reason = reasonByType.get(type)
  return reason === undefined ? parseFailure(message) : failure(reason, message)
}

/** Failure from an error response to our request. */
export const toRequestFailure = (error: JsonObject): RunFailure => {
  const message = textOf(error["message"]) ?? ""
  const parsed = parseFailure(message)
  return parsed.details?.["reason"] === "runtime_error" ? failure("protocol_refused", message) : parsed
}

const exitPatterns: ReadonlyArray<readonly [RegExp, string]> = [
  [/no rollout found for thread id/, "unknown_session"],
  [/already has an active writer/, "session_in_use"],
  [/Not inside a trusted directory/, "untrusted_workspace"],
  [/^error: (unexpected argument|unrecognized subcommand|invalid value|a value is required)/m, "bad_option"]
]

/** Stderr without lines that Codex always prints, and without stack traces. */
const trimStderr = (stderr: string): string =>
  stderr
    .replace(/^Reading .* from stdin\.\.\.$/m, "")
    .replace(/\n\nStack backtrace:[\s\S]*/, "")
    .trim()

/** Place of an error in a configuration, at the start of a line. Our part of stderr is shorter than the cap. */
const place = capped(32_768, /^\S+:\d+:\d+(?=: )/m)

/** Failure from stderr of a process without a result; `undefined` if it gives no reason. */
export const codexFailureAtExit = ({ code, signal, stderr }: ProcessEnd): RunFailure | undefined => {
  if (signal !== null) return undefined
  if (code === null && /\b(ENOENT|EACCES)\b/.test(stderr))
    return failure("command_missing", trimStderr(stderr))
  // The text after the place quotes the file, which may have secrets. Only the place is reported.
  if (stderr.includes("Error loading config")) {
    return failure("bad_config", place.exec(stderr)?.[0] ?? "")
  }
  const reason = exitPatterns.find(([pattern]) => pattern.test(stderr))?.[1]
  return reason === undefined ? undefined : failure(reason, trimStderr(stderr))
}

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
