/**
 * Refusals to pause a run: the `details.reason` of a `conflict`, and its message for people.
 *
 * Pausing a paused run and resuming a run that is not paused have no effect. They are not refused, so a repeated request is harmless.
 */
import { Conflict } from "../errors/Failures.ts"

/** Descriptions of the endpoints, at an Edge and at a Hub. */
export const PAUSE_TEXT =
  "Freezes all processes of the run. The state stays the same, and the run has `paused: true`. Its clocks stop, except its absolute limit and " +
  "the expiry of its approvals, which can still be decided. Pausing a paused run has no effect. `conflict` if the run has not started, is ending " +
  "or has ended, or if its Edge has no control groups: `details.reason` says which."
export const RESUME_TEXT =
  "Lets the processes of a paused run continue. Resuming a run that is not paused has no effect. `conflict` if the run has ended. To continue the " +
  "conversation of a run that has ended, start a run with `resume`."

/** Message of each reason. */
const messages = {
  no_control_group:
    "This run can't be paused: its Edge has no control groups (cgroup v2). Linux with a writable control group is required.",
  not_started: "The run has not started yet. Pause it when it is running, or cancel it.",
  ending: "The run is ending.",
  ended: "The run has ended.",
  freeze_failed: "The run's processes could not be frozen in time. They continue to run. Try again.",
  edge_outdated: "The Edge of this device is too old to pause runs. Update it."
} as const

/** Why a run cannot be paused or resumed. */
export type PauseRefusalReason = keyof typeof messages

/** The refusal, as an API returns it. */
export const pauseRefusal = (reason: PauseRefusalReason): Conflict =>
  new Conflict({ message: messages[reason], details: { reason } })
