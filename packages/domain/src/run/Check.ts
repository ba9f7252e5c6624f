/**
 * Checks: commands that a project names, such as its tests. The Edge executes them after a turn, confined as the run is, in a copy of what the run
 * changed.
 *
 * Guarantees: what a check writes is not part of a change set. A check is never executed without the confinement of its run.
 */
import { Schema } from "effect"
import { RunId } from "../identity/Ids.ts"
import { isStorableText, oneLine } from "../text/Text.ts"

/** Largest number of checks of a project. */
export const MAX_CHECKS = 5
/** Longest end of a check's output in its result, in characters. */
export const MAX_CHECK_OUTPUT = 8_192

/** A command for the shell, with a name for people. */
export const Check = Schema.Struct({
  name: oneLine(60),
  command: Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(2_000), isStorableText)
}).annotate({ identifier: "Check" })
export type Check = typeof Check.Type

/** Checks with different names. */
export const Checks = Schema.Array(Check).check(
  Schema.isMaxLength(MAX_CHECKS),
  Schema.makeFilter(
    (checks: ReadonlyArray<Check>) => new Set(checks.map(({ name }) => name)).size === checks.length,
    { expected: "checks with different names" }
  )
)

/**
 * State of a check. `passed`: the command ended with 0. `failed`: with another code, or by a signal. `timed_out`: it was ended at its time limit.
 * `stopped`: a new turn, or the end of the Edge, ended it. `unavailable`: it was not executed, and `reason` says why.
 */
export const CheckState = Schema.Literals([
  "waiting",
  "running",
  "passed",
  "failed",
  "timed_out",
  "stopped",
  "unavailable"
])
export type CheckState = typeof CheckState.Type

export const CheckResult = Schema.Struct({
  name: Schema.String,
  command: Schema.String,
  state: CheckState,
  exitCode: Schema.optionalKey(Schema.Int),
  durationMs: Schema.optionalKey(Schema.Int),
  /** End of what the command printed, without secrets. */
  output: Schema.optionalKey(Schema.String),
  /** Whether the beginning of the output is missing. */
  truncated: Schema.optionalKey(Schema.Literal(true)),
  /** A sentence. */
  reason: Schema.optionalKey(Schema.String)
}).annotate({ identifier: "CheckResult" })
export type CheckResult = typeof CheckResult.Type

/** Checks after the newest turn of a run, in the order of the project. */
export const RunChecks = Schema.Struct({
  runId: RunId,
  /** Version of the change set that was checked. With another one, a person has decided since, or the run has continued. */
  version: Schema.optionalKey(Schema.String),
  results: Schema.Array(CheckResult).check(Schema.isMaxLength(MAX_CHECKS)),
  /** Absent while a check waits or runs. */
  endedAt: Schema.optionalKey(Schema.String)
}).annotate({ identifier: "RunChecks" })
export type RunChecks = typeof RunChecks.Type
