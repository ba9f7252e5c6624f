/**
 * Turns of one run of Claude Code: what the end of a turn leads to, messages that wait for it, and the outcome, from its `result` line, or from stderr
 * without one.
 *
 * The program may continue by itself after a `result`: for a message, or for work that ended meanwhile. `session_state_changed` with `idle` says
 * that it does not. Until then the outcome waits. A program that does not print its state ends its turn with the `result`.
 *
 * `is_error`, `api_error_status` and `terminal_reason` count. A `subtype` counts only if it names an error: it is "success" without a sign-in.
 * Exit codes differ between versions.
 *
 * Guarantees: one user message at a time is written, after the turn before has ended. An outcome is emitted when the program waits for work in
 * the background, or is idle.
 */
import type { RunFailure, Usage } from "@corral/domain/run/Run"
import type { Outcome, ProcessEnd } from "@corral/domain/run/RuntimeAdapter"
import { type OutputCollector, runtimeFailure } from "../output/OutputCollector.ts"
import { reasonOfStatus } from "../output/ServiceFailure.ts"
import { endingOf } from "../text/FirstLine.ts"
import { type JsonObject, arrayOf, countOf, defined, textOf } from "../text/Json.ts"
import { userMessage } from "./Frames.ts"

/** Facts of earlier lines that a result is interpreted with. */
interface ClaudeEvidence {
  /** `init` found no credentials of any kind. */
  readonly hasNoCredentials: boolean
  /** Error of the last failed request: `authentication_failed`, `rate_limit`, `server_error` … */
  readonly lastError?: string | undefined
  /** A cancel was sent. */
  readonly isCancelling: boolean
}

const sentences: Readonly<Record<string, string>> = {
  not_signed_in:
    "Claude Code is not signed in. Run `claude` on this machine and use /login, or set ANTHROPIC_API_KEY.",
  bad_credentials: "Claude Code's credentials were refused. Sign in again, or correct the API key.",
  rate_limited:
    "The model service refused the request because of its rate limit. Wait a moment, then start the run again.",
  overloaded: "The model service is overloaded. Try again in a moment.",
  server_error: "The model service failed. Try again in a moment.",
  unreachable: "Claude Code could not reach the model service. Check the network, proxy and base URL.",
  request_refused: "The model service refused the request.",
  output_limit:
    "The model's answer is longer than its output limit. Ask for it in smaller parts, or set CLAUDE_CODE_MAX_OUTPUT_TOKENS.",
  model_refused: "The model refused the request. Rephrase it, or choose another model.",
  turn_limit: "Claude Code reached its limit of turns. Continue the conversation, or raise the limit.",
  unknown_session: "Claude Code can't find the conversation to resume. Start a new run instead.",
  bad_option: "Claude Code refused an option that it was started with. Check its version.",
  command_missing: "Claude Code was not found on this machine. Install it, or correct its path.",
  crashed: "Claude Code ended before it gave a result."
}

const failure = (reason: string, details: Readonly<Record<string, unknown>> = {}): RunFailure =>
  runtimeFailure(reason, sentences[reason] ?? "Claude Code failed.", details)

const reasonByError = new Map([
  ["authentication_failed", "bad_credentials"],
  ["rate_limit", "rate_limited"],
  ["overloaded", "overloaded"],
  ["server_error", "server_error"],
  ["connection_failed", "unreachable"],
  ["max_output_tokens", "output_limit"],
  ["invalid_request", "request_refused"]
])

/** Failure that a failed call to the model would end the run with. */
export const failureOfCall = (status: number | undefined, error: string | undefined): RunFailure =>
  failure(status === undefined ? (reasonByError.get(error ?? "") ?? "unknown") : reasonOfStatus(status))

const isUnknownSession = (text: string): boolean => text.includes("No conversation found with session ID")

/** Whether a `result` is a failure. A limit of turns is one without `is_error`. */
const isFailedResult = (result: JsonObject): boolean =>
  result["is_error"] === true || textOf(result["subtype"])?.startsWith("error_") === true

/** Outcome from a `result` line. */
export const toClaudeOutcome = (result: JsonObject, usage: Usage, evidence: ClaudeEvidence): Outcome => {
  const text = textOf(result["result"])
  if (!isFailedResult(result)) return { _tag: "Completed", usage, ...(text === "" ? {} : defined({ text })) }
  const terminal = textOf(result["terminal_reason"]) ?? ""
  const status = countOf(result["api_error_status"])
  if (terminal.startsWith("aborted") || (evidence.isCancelling && status === undefined)) {
    return { _tag: "Cancelled", reason: "interrupted", usage }
  }
  return { _tag: "Failed", error: errorOf(result, status, terminal, evidence), usage }
}

const errorOf = (
  result: JsonObject,
  status: number | undefined,
  terminal: string,
  { hasNoCredentials, lastError }: ClaudeEvidence
): RunFailure => {
  const resultText =
    textOf(result["result"]) ??
    arrayOf(result["errors"])
      .filter((e) => typeof e === "string")
      .join("; ")
  const details = resultText === "" ? {} : { said: resultText }
  if (isUnknownSession(resultText)) return failure("unknown_session", details)
  if (status !== undefined) return failure(reasonOfStatus(status), { status, ...details })
  if (result["stop_reason"] === "refusal") return failure("model_refused", details)
  if (result["subtype"] === "error_max_turns") return failure("turn_limit", details)
  if (lastError === "authentication_failed") {
    return failure(hasNoCredentials ? "not_signed_in" : "bad_credentials", details)
  }
  const reason = lastError === undefined ? undefined : reasonByError.get(lastError)
  if (reason !== undefined) return failure(reason, details)
  if (terminal === "api_error") return failure("server_error", details)
  // A reason of the runtime, such as a limit of turns. Its text explains more than ours.
  const message =
    resultText === "" ? `Claude Code stopped: ${terminal === "" ? "no reason given" : terminal}.` : resultText
  return runtimeFailure(terminal === "" ? "runtime_error" : terminal, message)
}

/** Failure from stderr of a process without a result; `undefined` if it gives no reason. */
export const claudeFailureAtExit = ({ code, signal, stderr }: ProcessEnd): RunFailure | undefined => {
  const details = stderr.trim() === "" ? {} : { said: endingOf(stderr.trim(), 1_000) }
  if (code === null && signal === null && /\b(ENOENT|EACCES)\b/.test(stderr))
    return failure("command_missing", details)
  if (isUnknownSession(stderr)) return failure("unknown_session", details)
  if (/unknown option|Input must be provided|cannot be used with root/.test(stderr))
    return failure("bad_option", details)
  return undefined
}

export class ClaudeTurns {
  readonly #collector: OutputCollector
  /** Whether work is outstanding, after which the program continues. */
  readonly #isWorking: () => boolean
  readonly #queued: Array<string> = []
  /** Outcome of the last turn, until it is emitted or the next turn starts. */
  #ended: Outcome | undefined
  #hasStarted = false
  /** Whether a message was written whose turn has not started. */
  #awaitsTurn = false
  /** Whether the program prints its state. */
  #printsState = false
  #isSilent = false

  constructor(collector: OutputCollector, isWorking: () => boolean) {
    this.#collector = collector
    this.#isWorking = isWorking
  }

  /** Whether the program starts a turn for work that ends now: it is idle, or it cannot be known. */
  get startsTurnForWork(): boolean {
    return this.#collector.isIdle || !this.#printsState
  }

  /** Whether the program is idle, and no message was written. */
  get isIdle(): boolean {
    return this.#collector.isIdle && !this.#awaitsTurn
  }

  /** A further user message: text for the program, empty if the message waits. */
  add(text: string): string {
    if (!this.isIdle) {
      this.#queued.push(text)
      return ""
    }
    this.#awaitsTurn = true
    return userMessage(text)
  }

  dropQueued(): void {
    this.#queued.length = 0
  }

  /** A turn starts: the first one with the run. */
  start(): void {
    if (!this.#hasStarted) {
      this.#hasStarted = true
      return
    }
    // A turn in which nothing happened continues as the next one.
    if (this.#isSilent) {
      this.#isSilent = false
      this.#ended = undefined
      return
    }
    const by = this.#awaitsTurn ? { by: "message" as const } : {}
    const ended = this.#ended === undefined ? {} : { ended: this.#ended }
    this.#ended = undefined
    this.#awaitsTurn = false
    this.#collector.startTurn({ ...by, ...ended })
  }

  /** The turn has ended. `queuedTurns`: further messages that the program has. `isSilent`: nothing happened in the turn. */
  end(outcome: Outcome, queuedTurns: number, isSilent: boolean): void {
    this.#ended = outcome
    this.#isSilent = isSilent
    this.#awaitsTurn = false
    if (this.#sendNext()) return
    const continues = this.#printsState || queuedTurns > 0
    if (outcome._tag === "Cancelled" || this.#isWorking() || !continues) this.flush()
  }

  /** The state that the program prints. */
  readState(state: unknown): void {
    this.#printsState = true
    if (state === "idle" && !this.#awaitsTurn && !this.#sendNext()) this.flush()
  }

  /** Writes the next message after a turn that has not failed. */
  #sendNext(): boolean {
    if (this.#ended?._tag !== "Completed") return false
    const next = this.#queued.shift()
    if (next === undefined) return false
    this.#awaitsTurn = true
    this.#collector.emit({ _tag: "Reply", text: userMessage(next) })
    return true
  }

  /** The program has ended. An outcome that waits for what follows does not complete the run: the output is not whole. */
  endProgram(): void {
    if (this.#ended?._tag !== "Completed") this.flush()
  }

  /** Emits the outcome of the last turn, if it waits. */
  flush(): void {
    const ended = this.#ended
    this.#ended = undefined
    if (ended !== undefined) this.#collector.endTurn(ended)
  }
}
