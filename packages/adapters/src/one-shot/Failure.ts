/**
 * Why a run of a one-shot program failed: a reason that tells kinds of failure apart, and a sentence for a person who can act on it.
 *
 * These programs say what a model's service answered in their own words, most with the HTTP status in them. A status is looked for where
 * such words put it, never anywhere in a text.
 */
import type { RunFailure } from "@corral/domain/run/Run"
import type { ProcessEnd } from "@corral/domain/run/RuntimeAdapter"
import { stripVTControlCharacters } from "node:util"
import { endingOf } from "../text/Excerpt.ts"
import { runtimeFailure } from "../output/OutputCollector.ts"

/** What sentences about a program are made of. */
export interface ProgramInfo {
  readonly label: string
  /** What to do to sign in, as a sentence. */
  readonly signIn: string
}

const sentences = {
  not_signed_in: ({ label, signIn }: ProgramInfo) => `${label} is not signed in. ${signIn}`,
  bad_credentials: ({ label, signIn }: ProgramInfo) => `${label}'s credentials were refused. ${signIn}`,
  rate_limited: () =>
    "The model service refused the request because of its rate limit. Wait a little, then start again.",
  overloaded: () => "The model service is overloaded. Try again in a moment.",
  server_error: () => "The model service failed. Try again in a moment.",
  request_refused: () => "The model service refused the request.",
  unreachable: ({ label }: ProgramInfo) =>
    `${label} could not reach the model service. Check the network, proxy and base URL.`,
  connection_lost: () => "The connection to the model service broke in the middle. Start the run again.",
  unknown_session: ({ label }: ProgramInfo) =>
    `${label} does not know the conversation to go on with. Start a new run instead.`,
  untrusted_folder: ({ label }: ProgramInfo) => `${label} does not trust this folder. Trust it there first.`,
  needs_permission: ({ label }: ProgramInfo) =>
    `${label} stopped because it needed a permission that can't be given in this mode.`,
  bad_option: ({ label }: ProgramInfo) =>
    `${label} refused how it was started. Check its version and configuration.`,
  turn_limit: ({ label }: ProgramInfo) => `${label} reached its limit of turns.`,
  command_missing: ({ label }: ProgramInfo) =>
    `${label} was not found on this machine. Install it, or correct its path.`,
  runtime_error: ({ label }: ProgramInfo) => `${label} failed.`
} satisfies Record<string, (words: ProgramInfo) => string>

export type Reason = keyof typeof sentences

const MAX_SAID = 1_000

/** A failure for that reason. `said` is what the program itself told about it. */
export const toProgramFailure = (
  words: ProgramInfo,
  reason: Reason,
  said: string,
  details: Readonly<Record<string, unknown>> = {}
): RunFailure => {
  const text = endingOf(stripVTControlCharacters(said).trim(), MAX_SAID)
  return runtimeFailure(reason, sentences[reason](words), {
    ...details,
    ...(text === "" ? {} : { said: text })
  })
}

export const reasonOfStatus = (status: number): Reason => {
  if (status === 401 || status === 403) return "bad_credentials"
  if (status === 429) return "rate_limited"
  if (status === 529) return "overloaded"
  return status >= 500 ? "server_error" : "request_refused"
}

/** `429 rate limited`, `[API Error: 401 …]`, `{"error":{"code":400,…`: the status where such words put it. */
const statusIn = (said: string): number | undefined => {
  const found = /^(?:\[API Error: )?([45]\d\d)\b|"(?:code|status|statusCode)":\s*([45]\d\d)\b/.exec(said)
  const status = found?.[1] ?? found?.[2]
  return status === undefined ? undefined : Number(status)
}

/** What a program's words about a failed request tell. */
export const serviceFailure = (words: ProgramInfo, said: string, told?: number): RunFailure => {
  const status = told ?? statusIn(said)
  if (status !== undefined) return toProgramFailure(words, reasonOfStatus(status), said, { status })
  if (/ECONNREFUSED|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|fetch failed|[Cc]onnection (?:error|refused)/.test(said))
    return toProgramFailure(words, "unreachable", said)
  if (/\bterminated\b|other side closed|unexpected EOF|ECONNRESET|socket hang up/.test(said))
    return toProgramFailure(words, "connection_lost", said)
  return toProgramFailure(words, "runtime_error", said)
}

/** Why the program did not even start, where the end tells. */
export const startFailure = ({ code, signal, stderr }: ProcessEnd): Reason | undefined =>
  code === null && signal === null && /\b(?:ENOENT|EACCES)\b/.test(stderr) ? "command_missing" : undefined
