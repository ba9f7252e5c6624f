/**
 * Failures of one-shot programs: a reason for each kind, and a sentence for the user who can act on it.
 *
 * These programs report the response of a model service as text, most with the HTTP status at a known position. Only these positions are
 * searched for a status.
 */
import { reasonOfStatus } from "../output/ServiceFailure.ts"
import type { RunFailure } from "@corral/domain/run/Run"
import type { ProcessEnd } from "@corral/domain/run/RuntimeAdapter"
import { stripVTControlCharacters } from "node:util"
import { endingOf } from "../text/FirstLine.ts"
import { runtimeFailure } from "../output/OutputCollector.ts"

/** Parts of sentences about a program. */
export interface ProgramInfo {
  /** Name of the program. */
  readonly label: string
  /** Sentence that says how to sign in. */
  readonly signIn: string
}

const sentences = {
  not_signed_in: ({ label, signIn }: ProgramInfo) => `${label} is not signed in. ${signIn}`,
  bad_credentials: ({ label, signIn }: ProgramInfo) => `${label}'s credentials were refused. ${signIn}`,
  rate_limited: () =>
    "The model service refused the request because of its rate limit. Wait a moment, then start the run again.",
  overloaded: () => "The model service is overloaded. Try again in a moment.",
  server_error: () => "The model service failed. Try again in a moment.",
  request_refused: () => "The model service refused the request.",
  unreachable: ({ label }: ProgramInfo) =>
    `${label} could not reach the model service. Check the network, proxy and base URL.`,
  connection_lost: () => "Lost the connection to the model service. Start the run again.",
  unknown_session: ({ label }: ProgramInfo) =>
    `${label} can't find the conversation to resume. Start a new run instead.`,
  untrusted_folder: ({ label }: ProgramInfo) => `${label} does not trust this folder. Trust it there first.`,
  needs_permission: ({ label }: ProgramInfo) =>
    `${label} stopped because it needed a permission that can't be given in this mode.`,
  bad_option: ({ label }: ProgramInfo) =>
    `${label} refused its start options. Check its version and configuration.`,
  output_limit: () =>
    "The answer reached the output limit of the model and is incomplete. Send a further message to continue.",
  turn_limit: ({ label }: ProgramInfo) => `${label} reached its turn limit.`,
  command_missing: ({ label }: ProgramInfo) =>
    `${label} was not found on this machine. Install it, or correct its path.`,
  runtime_error: ({ label }: ProgramInfo) => `${label} failed.`
} satisfies Record<string, (program: ProgramInfo) => string>

export type Reason = keyof typeof sentences

const MAX_DETAIL = 1_000

/** Failure with a reason. `said` is the program's own text about it. */
export const toProgramFailure = (
  program: ProgramInfo,
  reason: Reason,
  message: string,
  details: Readonly<Record<string, unknown>> = {}
): RunFailure => {
  const text = endingOf(stripVTControlCharacters(message).trim(), MAX_DETAIL)
  return runtimeFailure(reason, sentences[reason](program), {
    ...details,
    ...(text === "" ? {} : { said: text })
  })
}

/** HTTP status in `429 rate limited`, `[API Error: 401 …]` or `{"error":{"code":400,…`. */
const statusIn = (text: string): number | undefined => {
  const found = /^(?:\[API Error: )?([45]\d\d)\b|"(?:code|status|statusCode)":\s*([45]\d\d)\b/.exec(text)
  const status = found?.[1] ?? found?.[2]
  return status === undefined ? undefined : Number(status)
}

/** Failure from a program's text about a failed request to a model service. */
export const serviceFailure = (program: ProgramInfo, text: string, reportedStatus?: number): RunFailure => {
  const status = reportedStatus ?? statusIn(text)
  if (status !== undefined) return toProgramFailure(program, reasonOfStatus(status), text, { status })
  if (/ECONNREFUSED|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|fetch failed|[Cc]onnection (?:error|refused)/.test(text))
    return toProgramFailure(program, "unreachable", text)
  if (/\bterminated\b|other side closed|unexpected EOF|ECONNRESET|socket hang up/.test(text))
    return toProgramFailure(program, "connection_lost", text)
  return toProgramFailure(program, "runtime_error", text)
}

/** Why the program did not start; `undefined` if it did. */
export const startFailure = ({ code, signal, stderr }: ProcessEnd): Reason | undefined =>
  code === null && signal === null && /\b(?:ENOENT|EACCES)\b/.test(stderr) ? "command_missing" : undefined
