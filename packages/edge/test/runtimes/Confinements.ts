/** Settings of the confinement with which the real programs are driven: without one, and confined where this machine has the means. */
import { canConfine } from "../confinement/CanConfine.ts"

export type DrivenConfinement = "off" | "required"

export const confinements: ReadonlyArray<DrivenConfinement> = canConfine ? ["off", "required"] : ["off"]

/** Each subject with each setting. */
export const withConfinements = <Subject extends object>(
  subjects: ReadonlyArray<Subject>
): ReadonlyArray<Subject & { readonly confinement: DrivenConfinement }> =>
  subjects.flatMap((subject) => confinements.map((confinement) => ({ ...subject, confinement })))
