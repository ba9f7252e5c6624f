/** Limits of the operating system on the processes of a run. */
import { Schema } from "effect"

/**
 * What enforces the limits. `landlock`: it limits files only. `none`: the processes of a run have the rights of the Edge's user.
 */
export const ConfinementKind = Schema.Literals(["bubblewrap", "seatbelt", "landlock", "none"])
export type ConfinementKind = typeof ConfinementKind.Type

/** Whether the means limits connections. Only then it enforces a mode: without, it limits files, and a run may send what it reads anywhere. */
export const closesNetwork = (kind: ConfinementKind): boolean => kind === "bubblewrap" || kind === "seatbelt"

/**
 * What the system refused to a failed tool call of a confined run, by its output: a write, or another access. A hint, which the confinement
 * may explain.
 */
export const KernelRefusal = Schema.Literals(["write", "access"])
export type KernelRefusal = typeof KernelRefusal.Type

/** Confinement of one run. `reason`: why it is `none`, or what it does not limit, as a sentence. */
export const RunConfinement = Schema.Struct({
  kind: ConfinementKind,
  reason: Schema.optionalKey(Schema.String)
}).annotate({ identifier: "RunConfinement" })
export type RunConfinement = typeof RunConfinement.Type
