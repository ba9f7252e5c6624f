/**
 * Settings of the confinement with which the real programs are driven: without one, and confined where this machine has the means. With
 * `CORRAL_TEST_CONFINEMENT`, only that one.
 */
import { canConfine } from "../confinement/CanConfine.ts"

export type DrivenConfinement = "off" | "required"

const possible: ReadonlyArray<DrivenConfinement> = canConfine ? ["off", "required"] : ["off"]
const chosen = process.env["CORRAL_TEST_CONFINEMENT"]

export const confinements = possible.filter((each) => chosen === undefined || each === chosen)

/** Each subject with each setting. */
export const withConfinements = <Subject extends object>(
  subjects: ReadonlyArray<Subject>
): ReadonlyArray<Subject & { readonly confinement: DrivenConfinement }> =>
  subjects.flatMap((subject) => confinements.map((confinement) => ({ ...subject, confinement })))
