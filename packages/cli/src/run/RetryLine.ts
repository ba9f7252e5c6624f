/**
 * One line for a person about a model call that is tried again, or about silence.
 */
import type { PayloadOf } from "@corral/domain/run/RunEvent"
import { escapeLine } from "../terminal/VisibleText.ts"

const seconds = (millis: number): string => `${Math.ceil(millis / 1_000)} s`

export const retryLine = ({
  attempt,
  delayMs,
  maxAttempts,
  message,
  reason,
  silentMs
}: PayloadOf<"runtime.retrying">): string => {
  if (silentMs !== undefined) return `no output for ${seconds(silentMs)}`
  const of = maxAttempts === undefined ? "" : ` of ${maxAttempts}`
  const which = attempt === undefined ? "" : ` (attempt ${attempt}${of})`
  const when = delayMs === undefined ? "" : ` in ${seconds(delayMs)}`
  const why = message === undefined ? "" : `: ${escapeLine(message)}`
  return `model call failed (${escapeLine(reason)}), retrying${when}${which}${why}`
}
