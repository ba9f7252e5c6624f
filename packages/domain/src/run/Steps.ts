/** Steps: the list of what an agent intends to do, as it keeps it. */
import { Schema } from "effect"

/** One step. A list is always sent whole. */
export const Step = Schema.Struct({
  id: Schema.String,
  text: Schema.String,
  state: Schema.Literals(["pending", "in_progress", "completed", "cancelled"])
}).annotate({ identifier: "Step" })
export type Step = typeof Step.Type

/** Longest list of steps. */
export const MAX_STEPS = 200
