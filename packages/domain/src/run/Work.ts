/**
 * Steps and work: the list of what an agent intends to do, as it keeps it, and what a runtime does in the background, next to or after its turns. A
 * run does not complete while work is outstanding.
 *
 * Imports no schema of a run, so that the event table can use it.
 */
import { Schema } from "effect"

/** A sub-agent, a command, a goal that the runtime follows by itself, or a moment at which it continues. */
export const WorkKind = Schema.Literals(["agent", "command", "goal", "timer"])
export type WorkKind = typeof WorkKind.Type

/** `stopped`: a person or the runtime ended it. `unfinished`: the run ended before it was done. */
export const WorkEnd = Schema.Literals(["completed", "failed", "stopped", "unfinished"])
export type WorkEnd = typeof WorkEnd.Type

/** Work as a run knows it while it is outstanding. */
export interface WorkInProgress {
  readonly kind: WorkKind
  readonly title: string
}

/** Largest number of works that are outstanding at a time. A run with more fails, because it could complete before they are done. */
export const MAX_OUTSTANDING = 1_000

/** Longest title of work, in characters. */
export const MAX_WORK_TITLE = 200

/** One step. A list is always sent whole. */
export const Step = Schema.Struct({
  id: Schema.String,
  text: Schema.String,
  state: Schema.Literals(["pending", "in_progress", "completed", "cancelled"])
}).annotate({ identifier: "Step" })
export type Step = typeof Step.Type

/** Longest list of steps. */
export const MAX_STEPS = 200
