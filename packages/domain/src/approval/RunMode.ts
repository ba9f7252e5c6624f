/** Mode of a run: what it may do without an approval. */
import { Schema } from "effect"

/** Clients use `ask` by default. `full_access` requires a grant of the workspace. */
export const RunMode = Schema.Literals(["read_only", "plan", "ask", "auto_edit", "full_access"])
export type RunMode = typeof RunMode.Type

/** Whether an approved plan ends a run of this mode, because it may not carry the plan out. In other modes the run continues. */
export const endsWithPlan = (mode: RunMode): boolean => mode === "plan" || mode === "read_only"
