/**
 * What a user can do about an unavailable runtime, by the `reason` in the error's details.
 *
 * Does not: cover the other reasons, such as a busy model service, which may pass without an action.
 */
import type { ErrorCode } from "../errors/ErrorTable.ts"

/** `install` and `sign_in`: on the device. `continue`: the device restarted, and a retry continues the work. */
export const runtimeRemedies = ["install", "sign_in", "continue"] as const
export type RuntimeRemedy = (typeof runtimeRemedies)[number]

const remedies: ReadonlyMap<unknown, RuntimeRemedy> = new Map([
  ["command_missing", "install"],
  ["not_signed_in", "sign_in"],
  ["bad_credentials", "sign_in"],
  ["edge_restarted", "continue"]
])

const RUNTIME_UNAVAILABLE: ErrorCode = "runtime_unavailable"

/** The remedy for a failed run or a rejected request; `undefined` if there is none, or for another code. */
export const runtimeRemedyOf = ({
  code,
  details
}: {
  readonly code: string
  readonly details?: Readonly<Record<string, unknown>> | undefined
}): RuntimeRemedy | undefined =>
  code === RUNTIME_UNAVAILABLE ? remedies.get(details?.["reason"]) : undefined
