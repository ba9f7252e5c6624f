/** Finish of a run whose runtime is idle: its description, and the refusals with their `details.reason`. */
import { Conflict } from "../errors/Failures.ts"

/** Description of the endpoint, at an Edge and at a Hub. */
export const FINISH_TEXT =
  "Ends the background work of a run whose runtime has ended its turn. The work is stopped, open questions are cancelled, and the run completes " +
  "with the result of that turn; `run.completed` names what was stopped. Finishing a completed run has no effect. `conflict` while a turn is in " +
  "progress, or if the run failed or was cancelled: `details.reason` is `turn_active` or `ended`."

/** Message of each reason. */
const messages = {
  turn_active: "The agent is still in its turn. Wait for the end of the turn, or cancel the run.",
  ended: "The run has ended.",
  edge_outdated: "The Edge of this device is too old to finish runs. Update it."
} as const

/** Why a run cannot be finished. */
export type FinishRefusalReason = keyof typeof messages

/** The refusal, as an API returns it. */
export const finishRefusal = (reason: FinishRefusalReason): Conflict =>
  new Conflict({ message: messages[reason], details: { reason } })
