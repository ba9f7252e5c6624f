/**
 * Outcome of a turn: its progress, and how it ended: by the response to its prompt, by an error response, or by the end of the process without
 * either. Also what an error response to another request of the client means for the run.
 *
 * The protocol has one error code for "not signed in" and none for a model service that refuses. Agents put that into other codes, into `data`, or
 * only into text. Text is read last.
 */
import { missingVariable, reasonOfStatus } from "../output/ServiceFailure.ts"
import { runtimeFailure } from "../output/OutputCollector.ts"
import { beginningOf, endingOf } from "../text/FirstLine.ts"
import { countOf, isJsonObject, objectOf } from "../text/Json.ts"
import type { AcpAgent } from "./AcpAgent.ts"
import { type ErrorData, type PromptResponse, type UnverifiedFields, isStopReason } from "./AcpSchema.ts"
import type * as Acp from "@agentclientprotocol/sdk"
import type { RunFailure } from "@corral/domain/run/Run"
import type { Outcome, ProcessEnd } from "@corral/domain/run/RuntimeAdapter"
import { capped } from "@corral/domain/text/CappedPattern"
import { firstCharacters } from "@corral/domain/text/Cut"

/** Facts about a failure other than its error. */
interface AcpEvidence {
  readonly agent: AcpAgent
  /** Whether the agent accepted a prompt, which requires a sign-in. */
  readonly isPrompted: boolean
  /** The agent's report of its sign-in, if there is one: `none`, `api_key` … */
  readonly signIn?: string | undefined
}

const AUTHENTICATION_REQUIRED: Acp.ErrorCode = -32000
const RESOURCE_NOT_FOUND: Acp.ErrorCode = -32002
/** Maximum length of the agent's text in the details. */
const MAX_DETAIL = 1_000
/** Maximum length of a text that is searched for a reason. */
const MAX_TEXT = 8_000

const sentences: Readonly<Record<string, (agent: AcpAgent) => string>> = {
  not_signed_in: ({ label, signIn }) => `${label} is not signed in. ${signIn}`,
  bad_credentials: ({ label, signIn }) =>
    `The credentials of ${label} were refused. Sign in again, or correct the key. ${signIn}`,
  rate_limited: () =>
    "The model service refused the request because of its rate limit. Wait a moment, then start the run again.",
  overloaded: () => "The model service is overloaded. Try again in a moment.",
  server_error: () => "The model service failed. Try again in a moment.",
  unreachable: ({ label }) =>
    `${label} could not reach the model service. Check the network, proxy and base URL.`,
  connection_lost: () => "Lost the connection to the model service during an answer. Start the run again.",
  request_refused: () => "The model service refused the request.",
  refuses_root: ({ label }) => `${label} does not run as root. Start the Edge as an ordinary user.`,
  unknown_session: ({ label }) => `${label} can't find the conversation to resume. Start a new run instead.`,
  cannot_resume: ({ label }) =>
    `This version of ${label} can't resume an earlier conversation. Start a new run instead.`,
  protocol_version: ({ label }) =>
    `${label} doesn't support version 1 of the Agent Client Protocol. Install another version of it.`,
  protocol_broken: ({ label }) =>
    `${label} sent an invalid message of the Agent Client Protocol. Check its version.`,
  mode_missing: ({ label }) =>
    `${label} does not offer the mode that this run needs, so it was not started. Check its version.`,
  mode_refused: ({ label }) =>
    `${label} did not change to the mode that this run needs, so it was not started.`,
  model_refused: ({ label }) =>
    `${label} didn't accept the model. Choose one that it offers, or none for its default.`,
  max_tokens: () => "The model reached its token limit before it finished.",
  max_turns: ({ label }) =>
    `${label} reached its turn limit before it finished. Continue in a new run, or raise the limit.`,
  refused: () => "The model refused to continue this conversation.",
  no_answer: ({ label }) =>
    `${label} ended its turn without an answer, as it does when the model service fails. Try again.`,
  session_refused: ({ label }) => `${label} didn't open a conversation. The details have its message.`,
  agent_failed: ({ label }) => `${label} failed during its turn. The details have its message.`,
  not_startable: ({ label }) =>
    `${label} couldn't start: its program failed before any output. Its Node version may be too old.`
}

export const acpFailure = (
  reason: string,
  agent: AcpAgent,
  details: Readonly<Record<string, unknown>> = {}
): RunFailure => runtimeFailure(reason, sentences[reason]?.(agent) ?? `${agent.label} failed.`, details)

const reasonPatterns: ReadonlyArray<readonly [RegExp, string]> = [
  [/cannot be used with root/i, "refuses_root"],
  [/rate.?limit|too many requests|resource.?exhausted|quota/i, "rate_limited"],
  [/overloaded/i, "overloaded"],
  [
    capped(
      MAX_TEXT,
      /(invalid|incorrect|wrong|expired)\W+(\S+\W+)?(api.?key|token|credential)|api.?key (is )?not valid|unauthori[sz]ed|forbidden|authentication.?(failed|error)/i
    ),
    "bad_credentials"
  ],
  [
    capped(
      MAX_TEXT,
      /not (logged|signed) in|no api key|(api.?key|auth\S*) (is )?(missing|required|not (set|configured))|missing environment variable|please (log|sign) in/i
    ),
    "not_signed_in"
  ],
  [
    capped(
      MAX_TEXT,
      /stream disconnected|error (decoding|reading)\b.*\bbody|unexpected EOF|socket hang up|\bterminated\b|other side closed|connection (was )?(lost|closed|reset)/i
    ),
    "connection_lost"
  ],
  [
    /ECONNREFUSED|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|ECONNRESET|fetch failed|network error|connection (error|failed|refused)|unable to connect/i,
    "unreachable"
  ],
  [/internal server error|high demand|bad gateway|service unavailable/i, "server_error"],
  [/\bAPIError\b|invalid.request/i, "request_refused"]
]

/** HTTP status in a text: `API Error: 400 …`, `unexpected status 401`, `{"code":429}`. */
const statusIn = (text: string): number | undefined => {
  const status =
    /\b(?:error|status|http)(?: code)?[:= ]+([45]\d\d)\b/i.exec(text)?.[1] ??
    /"(?:code|status|statusCode)"\s*:\s*"?([45]\d\d)\b/.exec(text)?.[1]
  return status === undefined ? undefined : Number(status)
}

/** The reason that a text gives; `undefined` if none is known. */
const reasonIn = (text: string): string | undefined =>
  reasonPatterns.find(([pattern]) => pattern.test(text))?.[1]

/** Google refuses a wrong key with 400: only the text distinguishes it from other bad requests. */
const reasonOfResponse = (status: number, text: string): string =>
  status === 400 && reasonIn(text) === "bad_credentials" ? "bad_credentials" : reasonOfStatus(status)

const detailsOf = (status: number | undefined, message: string): Readonly<Record<string, unknown>> => ({
  ...(status === undefined ? {} : { status }),
  ...(message === "" ? {} : { said: beginningOf(message, MAX_DETAIL) })
})

/** Failure from a text that the agent sends instead of an answer of the model. */
const failureInText = (text: string, agent: AcpAgent): RunFailure => {
  const beginning = text.slice(0, MAX_TEXT)
  const missing = missingVariable(agent.label, beginning, agent.passEnv)
  if (missing !== undefined) return missing
  const status = statusIn(beginning)
  const otherwise = beginning.trim() === "" ? "agent_failed" : "request_refused"
  const reason =
    status === undefined ? (reasonIn(beginning) ?? otherwise) : reasonOfResponse(status, beginning)
  return acpFailure(reason, agent, detailsOf(status, beginning))
}

const joinTexts = (texts: ReadonlyArray<unknown>): string =>
  texts
    .filter((text) => typeof text === "string")
    .join(": ")
    .slice(0, MAX_TEXT)

/** Message of an error. Some agents say "Internal error" and put the message into `data`. */
const errorText = ({ data, message }: UnverifiedFields<Acp.Error>): string => {
  const { details }: UnverifiedFields<ErrorData> = objectOf(data)
  return joinTexts([message, details])
}

/** Failure for an error response. `otherwise` is the reason if the error gives none. */
const toAcpFailure = (
  error: UnverifiedFields<Acp.Error>,
  { agent, isPrompted, signIn }: AcpEvidence,
  otherwise: string
): RunFailure => {
  const data: UnverifiedFields<ErrorData> = objectOf(error.data)
  const message = errorText(error)
  const text = joinTexts([message, data.errorKind, data.errorName, error.data])
  const status = [error.code, data.status, data.statusCode]
    .map(countOf)
    .find((number) => number !== undefined && number >= 400 && number < 600)
  if (status !== undefined)
    return acpFailure(reasonOfResponse(status, text), agent, detailsOf(status, message))
  if (error.code === AUTHENTICATION_REQUIRED) {
    const isRefused = signIn === undefined ? isPrompted : signIn !== "none"
    return acpFailure(isRefused ? "bad_credentials" : "not_signed_in", agent, detailsOf(undefined, message))
  }
  const statusInText = statusIn(text)
  return statusInText === undefined
    ? acpFailure(reasonIn(text) ?? otherwise, agent, detailsOf(undefined, message))
    : acpFailure(reasonOfResponse(statusInText, text), agent, detailsOf(statusInText, message))
}

/** Whether an error to `session/load` or `session/resume` says that the session is unknown. No new session is opened instead. */
const isUnknownSession = (error: UnverifiedFields<Acp.Error>): boolean =>
  error.code === RESOURCE_NOT_FOUND ||
  /not found|unknown session|no such session|invalid session/i.test(errorText(error))

/** Progress of a turn, for agents that report failures as ordinary text. */
export interface PromptProgress {
  /** The last message of the model. */
  readonly text: string | undefined
  /** The last message if it came in one chunk. */
  readonly singleChunk: string | undefined
  /** Why the turn failed, if the agent reported a failure. May be empty. */
  readonly failure: string | undefined
  /** A tool call came before the last message. */
  readonly hasCalled: boolean
  /** The model's text came last, or a call has no result: no call of the model is missing. */
  readonly hasAnswered: boolean
}

/** Whether the last message is an error of the model service. */
const isFailureText = (
  response: UnverifiedFields<PromptResponse>,
  { hasCalled, singleChunk }: PromptProgress,
  agent: AcpAgent
): boolean => {
  if (singleChunk === undefined) return false
  const hasTokens = isJsonObject(response.usage)
  const { failsInWords, failsInWordsWithoutTokens } = agent
  if (!hasTokens && failsInWordsWithoutTokens?.test(singleChunk) === true) return true
  return (!hasTokens || hasCalled) && failsInWords?.test(singleChunk) === true
}

/** Outcome from the response to a prompt, without usage. */
export const toAcpOutcome = (
  response: UnverifiedFields<PromptResponse>,
  progress: PromptProgress,
  agent: AcpAgent
): Outcome => {
  const { failure, hasAnswered, text } = progress
  const failed = (error: RunFailure): Outcome => ({ _tag: "Failed", error })
  const { stopReason } = response
  if (!isStopReason(stopReason)) {
    const details = typeof stopReason === "string" ? { stopReason: firstCharacters(stopReason, 100) } : {}
    return failed(acpFailure("protocol_broken", agent, details))
  }
  switch (stopReason) {
    case "end_turn":
      if (failure !== undefined) return failed(failureInText(failure, agent))
      if (isFailureText(response, progress, agent)) return failed(failureInText(text ?? "", agent))
      if (agent.failsSilently === true && !hasAnswered) return failed(acpFailure("no_answer", agent))
      return { _tag: "Completed", ...(text === undefined ? {} : { text }) }
    case "cancelled":
      return { _tag: "Cancelled", reason: "interrupted" }
    case "max_tokens":
      return failed(acpFailure("max_tokens", agent))
    case "max_turn_requests":
      return failed(acpFailure("max_turns", agent))
    case "refusal":
      return failed(acpFailure("refused", agent))
  }
}

/** Failure from stderr of a process that exited without a response; `undefined` if it gives no reason. `hasResponded`: there was one before. */
export const acpFailureAtExit = (
  { code, signal, stderr }: ProcessEnd,
  agent: AcpAgent,
  hasResponded: boolean
): RunFailure | undefined => {
  // What an agent writes during its work does not explain its exit.
  if (hasResponded || code === 0 || signal !== null) return undefined
  const output = endingOf(stderr.trim(), MAX_DETAIL)
  if (/\bSyntaxError\b/.test(output)) return acpFailure("not_startable", agent, detailsOf(undefined, output))
  const reason = reasonIn(output)
  return reason === undefined ? undefined : acpFailure(reason, agent, detailsOf(undefined, output))
}

/** Purpose of a request. `history`: barrier after a loaded session's old messages. `drain`: barrier after a turn. */
export type AcpPurpose = "initialize" | "session" | "history" | "mode" | "model" | "prompt" | "drain"

type RpcError = UnverifiedFields<Acp.Error>

/** Whether the conversation continues as after a result: a barrier was refused, or the agent is in the mode already. */
export const isExpectedError = (purpose: AcpPurpose, error: RpcError): boolean =>
  purpose === "history" ||
  purpose === "drain" ||
  (purpose === "mode" && /already in \S+ mode/i.test(errorText(error)))

/** Failure of the run, or of the turn for a prompt. */
export const failureOfError = (
  purpose: AcpPurpose,
  error: RpcError,
  evidence: AcpEvidence,
  isResumed: boolean
): RunFailure => {
  switch (purpose) {
    case "session":
      if (isResumed && isUnknownSession(error)) return acpFailure("unknown_session", evidence.agent)
      return toAcpFailure(error, evidence, isResumed ? "unknown_session" : "session_refused")
    case "mode":
      return toAcpFailure(error, evidence, "mode_refused")
    case "model":
      return toAcpFailure(error, evidence, "model_refused")
    case "prompt":
      return toAcpFailure(error, evidence, "agent_failed")
    default:
      return toAcpFailure(error, evidence, "protocol_broken")
  }
}

/** Progress of one turn of an agent, from which its outcome and a stop after a denial are read. Reports of sub-agents do not change it. */
export class TurnProgress {
  /** Why the turn failed, after the agent has reported that it did. May be empty. */
  failure: string | undefined
  #hasCalled = false
  #hasAnswered = false
  #stoppedAtDenial = false

  /** Whether a tool call came before the last message. */
  get hasCalled(): boolean {
    return this.#hasCalled
  }

  /** Whether the model's text came last. */
  get hasAnswered(): boolean {
    return this.#hasAnswered
  }

  /** Whether the agent has sent neither text nor a tool call since a permission was denied. */
  get stoppedAtDenial(): boolean {
    return this.#stoppedAtDenial
  }

  begin(): void {
    this.failure = undefined
    this.#hasCalled = false
    this.#hasAnswered = false
    this.#stoppedAtDenial = false
  }

  /** The agent calls a tool, or reports a call again. */
  call(): void {
    this.#hasCalled = true
    this.#hasAnswered = false
  }

  /** The model writes text. */
  write(): void {
    this.#hasAnswered = true
  }

  /** A permission was denied. */
  deny(): void {
    this.#stoppedAtDenial = true
  }

  /** The agent continues after a denial. */
  proceed(): void {
    this.#stoppedAtDenial = false
  }
}
