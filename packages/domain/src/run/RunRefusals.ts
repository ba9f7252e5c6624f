/**
 * Refusals to pause, resume or finish a run: the `details.reason` of a `conflict`, and its message for people. With them are the descriptions of
 * these endpoints.
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
const pauseMessages = {
  no_control_group:
    "This run can't be paused: its Edge has no control groups (cgroup v2). Linux with a writable control group is required.",
  not_started: "The run has not started yet. Pause it when it is running, or cancel it.",
  ending: "The run is ending.",
  ended: "The run has ended.",
  freeze_failed: "The run's processes could not be frozen in time. They continue to run. Try again.",
  edge_outdated: "The Edge of this device is too old to pause runs. Update it."
} as const

/** Why a run cannot be paused or resumed. */
export type PauseRefusalReason = keyof typeof pauseMessages

/** The refusal, as an API returns it. */
export const pauseRefusal = (reason: PauseRefusalReason): Conflict =>
  new Conflict({ message: pauseMessages[reason], details: { reason } })

/** Description of the endpoint, at an Edge and at a Hub. */
export const FINISH_TEXT =
  "Ends the background work of a run whose runtime has ended its turn. The work is stopped, open questions are cancelled, and the run completes " +
  "with the result of that turn; `run.completed` names what was stopped. Finishing a completed run has no effect. `conflict` while a turn is in " +
  "progress, or if the run failed or was cancelled: `details.reason` is `turn_active` or `ended`."

/** Message of each reason. */
const finishMessages = {
  turn_active: "The agent is still in its turn. Wait for the end of the turn, or cancel the run.",
  ended: "The run has ended.",
  edge_outdated: "The Edge of this device is too old to finish runs. Update it."
} as const

/** Why a run cannot be finished. */
export type FinishRefusalReason = keyof typeof finishMessages

/** The refusal, as an API returns it. */
export const finishRefusal = (reason: FinishRefusalReason): Conflict =>
  new Conflict({ message: finishMessages[reason], details: { reason } })
