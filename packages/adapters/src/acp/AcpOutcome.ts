/**
 * How a turn of an agent ended: from the answer to its prompt, from an error instead of an answer, or from what is left when there is
 * neither.
 *
 * The protocol has one code for "not signed in" and none for what a model's service refuses; agents put that into other codes, into data, or
 * only into words. Words are read last.
 */
import { capped } from "@corral/domain/text/CappedPattern"
import type { RunFailure } from "@corral/domain/run/Run"
import type { Outcome, ProcessEnd } from "@corral/domain/run/RuntimeAdapter"
import { beginningOf, endingOf } from "../text/Excerpt.ts"
import { countOf, isJsonObject, objectOf, textOf, type JsonObject } from "../text/Json.ts"
import { missingVariable } from "../output/MissingVariable.ts"
import { runtimeFailure } from "../output/OutputCollector.ts"
import type { AcpAgent } from "./AcpAgent.ts"

/** What a failure is judged with beside its own words. */
export interface AcpEvidence {
  readonly agent: AcpAgent
  /** Whether the agent accepted a prompt, which requires a sign-in. */
  readonly prompted: boolean
  /** What the agent says of its sign-in, where it does: `none`, `api_key` … */
  readonly signIn?: string | undefined
}

const AUTHENTICATION_REQUIRED = -32000
const MAX_SAID = 1_000
/** Where a reason is looked for. */
const MAX_WORDS = 8_000

const sentences: Readonly<Record<string, (agent: AcpAgent) => string>> = {
  not_signed_in: ({ label, signIn }) => `${label} is not signed in. ${signIn}`,
  bad_credentials: ({ label, signIn }) =>
    `The credentials of ${label} were refused. Sign in again, or correct the key. ${signIn}`,
  rate_limited: () =>
    "The model service refused the request because of its rate limit. Wait a little, then start again.",
  overloaded: () => "The model service is overloaded. Try again in a moment.",
  server_error: () => "The model service failed. Try again in a moment.",
  unreachable: ({ label }) =>
    `${label} could not reach the model service. Check the network, proxy and base URL.`,
  connection_lost: () =>
    "The connection to the model service broke in the middle of an answer. Start the run again.",
  request_refused: () => "The model service refused the request.",
  refuses_root: ({ label }) => `${label} does not run as root. Start the Edge as an ordinary user.`,
  unknown_session: ({ label }) =>
    `${label} does not know the conversation to go on with. Start a new run instead.`,
  cannot_resume: ({ label }) =>
    `This version of ${label} cannot go on with an earlier conversation. Start a new run instead.`,
  protocol_version: ({ label }) =>
    `${label} speaks another version of the Agent Client Protocol than 1. Install another version of it.`,
  protocol_broken: ({ label }) => `${label} broke the Agent Client Protocol. Check its version.`,
  mode_missing: ({ label }) =>
    `${label} does not offer the mode that this run needs, so it was not started. Check its version.`,
  mode_refused: ({ label }) =>
    `${label} did not change to the mode that this run needs, so it was not started.`,
  model_refused: ({ label }) =>
    `${label} did not take the model. Choose one that it offers, or none for its own default.`,
  max_tokens: () => "The model stopped at its limit of tokens before it was done.",
  max_turns: ({ label }) =>
    `${label} stopped at its limit of turns before it was done. Go on in a new run, or raise the limit.`,
  refused: () => "The model refused to go on with this conversation.",
  no_answer: ({ label }) =>
    `${label} ended its turn without a word, as it does when the model service fails. Try again.`,
  session_refused: ({ label }) => `${label} opened no conversation. Its own words are in the details.`,
  agent_failed: ({ label }) => `${label} failed in its turn. Its own words are in the details.`,
  not_startable: ({ label }) =>
    `${label} could not start: its program broke before it spoke. An older Node than it needs does this.`
}

export const acpFailure = (
  reason: string,
  agent: AcpAgent,
  details: Readonly<Record<string, unknown>> = {}
): RunFailure => runtimeFailure(reason, sentences[reason]?.(agent) ?? `${agent.label} failed.`, details)

const byStatus = (status: number): string => {
  if (status === 401 || status === 403) return "bad_credentials"
  if (status === 429) return "rate_limited"
  if (status === 529) return "overloaded"
  return status >= 500 ? "server_error" : "request_refused"
}

const byWords: ReadonlyArray<readonly [RegExp, string]> = [
  [/cannot be used with root/i, "refuses_root"],
  [/rate.?limit|too many requests|resource.?exhausted|quota/i, "rate_limited"],
  [/overloaded/i, "overloaded"],
  [
    capped(
      MAX_WORDS,
      /(invalid|incorrect|wrong|expired)\W+(\S+\W+)?(api.?key|token|credential)|api.?key (is )?not valid|unauthori[sz]ed|forbidden|authentication.?(failed|error)/i
    ),
    "bad_credentials"
  ],
  [
    capped(
      MAX_WORDS,
      /not (logged|signed) in|no api key|(api.?key|auth\S*) (is )?(missing|required|not (set|configured))|missing environment variable|please (log|sign) in/i
    ),
    "not_signed_in"
  ],
  [
    capped(
      MAX_WORDS,
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

/** An HTTP status that words tell: `API Error: 400 …`, `unexpected status 401`, `{"code":429}`. */
const statusIn = (words: string): number | undefined => {
  const told =
    /\b(?:error|status|http)(?: code)?[:= ]+([45]\d\d)\b/i.exec(words)?.[1] ??
    /"(?:code|status|statusCode)"\s*:\s*"?([45]\d\d)\b/.exec(words)?.[1]
  return told === undefined ? undefined : Number(told)
}

/** A failure that only words tell; `undefined` where they tell nothing. */
const reasonIn = (words: string): string | undefined => byWords.find(([pattern]) => pattern.test(words))?.[1]

/** Google refuses a wrong key with 400: only the words tell it from any other bad request. */
const byStatusAndWords = (status: number, words: string): string =>
  status === 400 && reasonIn(words) === "bad_credentials" ? "bad_credentials" : byStatus(status)

const detailsOf = (status: number | undefined, said: string): Readonly<Record<string, unknown>> => ({
  ...(status === undefined ? {} : { status }),
  ...(said === "" ? {} : { said: beginningOf(said, MAX_SAID) })
})

/** Text of the agent instead of an answer from the model. */
const failureInWords = (words: string, agent: AcpAgent): RunFailure => {
  const said = words.slice(0, MAX_WORDS)
  const missing = missingVariable(agent.label, said, agent.passEnv)
  if (missing !== undefined) return missing
  const status = statusIn(said)
  const otherwise = said.trim() === "" ? "agent_failed" : "request_refused"
  const reason = status === undefined ? (reasonIn(said) ?? otherwise) : byStatusAndWords(status, said)
  return acpFailure(reason, agent, detailsOf(status, said))
}

const joined = (texts: ReadonlyArray<unknown>): string =>
  texts
    .filter((text) => typeof text === "string")
    .join(": ")
    .slice(0, MAX_WORDS)

/** An error's words for a person. Some agents say "Internal error" and put what happened beside it. */
export const errorText = (error: JsonObject): string =>
  joined([error["message"], objectOf(error["data"])["details"]])

/** The error that a request was answered with. `otherwise` is the reason where nothing tells one. */
export const toAcpFailure = (
  error: JsonObject,
  { agent, prompted, signIn }: AcpEvidence,
  otherwise: string
): RunFailure => {
  const code = error["code"]
  const data = objectOf(error["data"])
  const said = errorText(error)
  const words = joined([said, data["errorKind"], data["errorName"], error["data"]])
  const status = [code, data["status"], data["statusCode"]]
    .map(countOf)
    .find((number) => number !== undefined && number >= 400 && number < 600)
  const details = (told: number | undefined) => detailsOf(told, said)
  if (status !== undefined) return acpFailure(byStatusAndWords(status, words), agent, details(status))
  if (code === AUTHENTICATION_REQUIRED) {
    const refused = signIn === undefined ? prompted : signIn !== "none"
    return acpFailure(refused ? "bad_credentials" : "not_signed_in", agent, details(undefined))
  }
  const told = statusIn(words)
  if (told !== undefined) return acpFailure(byStatusAndWords(told, words), agent, details(told))
  return acpFailure(reasonIn(words) ?? otherwise, agent, details(undefined))
}

/** An error to `session/load` or `session/resume`: never a reason to begin a new conversation behind a person's back. */
export const isUnknownSession = (error: JsonObject): boolean =>
  error["code"] === -32002 ||
  /not found|unknown session|no such session|invalid session/i.test(errorText(error))

/** What the agent did in the turn, for those that hide their failures. */
export interface PromptProgress {
  /** The last message of the model. */
  readonly text: string | undefined
  /** The last message where it came in one piece. */
  readonly lone: string | undefined
  /** The agent reported that the turn failed: its words about that, which may be empty. */
  readonly failed: string | undefined
  /** A tool call came before the last message. */
  readonly called: boolean
  /** The model's text came last, or a call without a result: no call to the model is missing. */
  readonly answered: boolean
}

/** Whether the last message is an error of the model service. */
const isFailure = (result: JsonObject, { called, lone }: PromptProgress, agent: AcpAgent): boolean => {
  if (lone === undefined) return false
  const hasTokens = isJsonObject(result["usage"])
  const { failsInWords, failsInWordsWithoutTokens } = agent
  if (!hasTokens && failsInWordsWithoutTokens?.test(lone) === true) return true
  return (!hasTokens || called) && failsInWords?.test(lone) === true
}

/** The outcome that the answer to a prompt tells, without what it used. */
export const toAcpOutcome = (result: JsonObject, turned: PromptProgress, agent: AcpAgent): Outcome => {
  const { answered, text } = turned
  const failed = (reason: string): Outcome => ({ _tag: "Failed", error: acpFailure(reason, agent) })
  const reason = textOf(result["stopReason"])
  switch (reason) {
    case "end_turn":
      if (turned.failed !== undefined) return { _tag: "Failed", error: failureInWords(turned.failed, agent) }
      if (isFailure(result, turned, agent))
        return { _tag: "Failed", error: failureInWords(text ?? "", agent) }
      if (agent.failsSilently === true && !answered) return failed("no_answer")
      return { _tag: "Completed", ...(text === undefined ? {} : { text }) }
    case "cancelled":
      return { _tag: "Cancelled", reason: "interrupted" }
    case "max_tokens":
      return failed("max_tokens")
    case "max_turn_requests":
      return failed("max_turns")
    case "refusal":
      return failed("refused")
    default: {
      const details = reason === undefined ? {} : { stopReason: reason.slice(0, 100) }
      return { _tag: "Failed", error: acpFailure("protocol_broken", agent, details) }
    }
  }
}

/** Why there is no answer, as far as the process's last words tell; `undefined` where they do not. `spoke`: it had answered something. */
export const acpFailureAtExit = (
  { code, signal, stderr }: ProcessEnd,
  agent: AcpAgent,
  spoke: boolean
): RunFailure | undefined => {
  // What an agent writes while it works tells nothing of how it ended.
  if (spoke || code === 0 || signal !== null) return undefined
  const said = endingOf(stderr.trim(), MAX_SAID)
  if (/\bSyntaxError\b/.test(said)) return acpFailure("not_startable", agent, detailsOf(undefined, said))
  const reason = reasonIn(said)
  return reason === undefined ? undefined : acpFailure(reason, agent, detailsOf(undefined, said))
}
