/**
 * The event `runtime.retrying`: a runtime retries a failed model call.
 *
 * The reasons are those of failures, so that a retry and a later failure have the same name.
 */
import type { RunFailure } from "@corral/domain/run/Run"
import { draft, type DraftOf } from "@corral/domain/run/RunEvent"
import { beginningOf } from "../text/FirstLine.ts"
import { countOf, defined, textOf } from "../text/Json.ts"

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
