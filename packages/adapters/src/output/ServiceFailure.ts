/**
 * Failures of model services, the same for every program: reasons by the HTTP status, the event `runtime.retrying`, and the failure for an unset
 * variable with a key ("Missing environment variable: `X`"). A retry and a later failure have the same reason.
 *
 * An adapter passes on only the variables that its program defines. Setting one of those for the Edge is enough to sign in. A profile has to list
 * any other variable.
 */
import { beginningOf } from "../text/FirstLine.ts"
import { countOf, defined, textOf } from "../text/Json.ts"
import { runtimeFailure } from "./OutputCollector.ts"
import type { RunFailure } from "@corral/domain/run/Run"
import { draft, type DraftOf } from "@corral/domain/run/RunEvent"

/** Reasons of failures by the HTTP status of a model service, the same for every program. */
export const reasonOfStatus = (
  status: number
): "bad_credentials" | "rate_limited" | "overloaded" | "server_error" | "request_refused" => {
  if (status === 401 || status === 403) return "bad_credentials"
  if (status === 429) return "rate_limited"
  if (status === 529) return "overloaded"
  return status >= 500 ? "server_error" : "request_refused"
}

const isPassed = (name: string, passEnv: ReadonlyArray<string>): boolean =>
  passEnv.some((passed) => (passed.endsWith("*") ? name.startsWith(passed.slice(0, -1)) : name === passed))

/** The failure if `said` names a missing variable that the adapter does not pass on; otherwise `undefined`. */
export const missingVariable = (
  label: string,
  text: string,
  passEnv: ReadonlyArray<string>
): RunFailure | undefined => {
  const variable = /\bMissing environment variable:? `?([A-Za-z_][A-Za-z0-9_]{0,127})\b/i.exec(text)?.[1]
  if (variable === undefined || isPassed(variable, passEnv)) return undefined
  const message = `${label} needs the environment variable ${variable}, which its configuration names. Set it for the Edge, and list it under "env" of a profile in edge.config.json.`
  return runtimeFailure("env_missing", message, { variable })
}

const MAX_MESSAGE = 500
/** Reasons that say only that something failed. */
const VAGUE = new Set(["runtime_error", "agent_failed", "unknown"])

/** A runtime's unchecked report of a retry. Values that are not counts are left out. */
interface Retry {
  readonly attempt?: unknown
  readonly maxAttempts?: unknown
  readonly delayMs?: unknown
  /** Failure that would have ended the run without the retry. */
  readonly failure: RunFailure
}

/** The event `runtime.retrying`: a runtime retries a failed model call. */
export const toRetryEvent = ({
  attempt,
  delayMs,
  failure,
  maxAttempts
}: Retry): DraftOf<"runtime.retrying"> => {
  const reason = textOf(failure.details?.["reason"]) ?? "unknown"
  const message = textOf(failure.details?.["said"])?.trim() ?? ""
  return draft(
    "runtime.retrying",
    defined({
      attempt: countOf(attempt),
      maxAttempts: countOf(maxAttempts),
      delayMs: typeof delayMs === "number" ? countOf(Math.round(delayMs)) : undefined,
      reason: VAGUE.has(reason) ? "model_call_failed" : reason,
      message: message === "" ? undefined : beginningOf(message, MAX_MESSAGE)
    })
  )
}
