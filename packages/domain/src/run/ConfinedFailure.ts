/**
 * What the confinement may have to do with a program that ended without a result: `confined` in the details of the error. A hint by the words
 * that the program printed.
 */
import type { RunFailure } from "./Run.ts"

/**
 * `temporary`: a file in `/tmp`, of which a run has its own. `hidden`: a file that the run does not see. `refused`: a file or a system call.
 * `network`: a host that is not allowed. `unknown`: the program gave no reason.
 */
export const confinedHints = ["temporary", "hidden", "refused", "network", "unknown"] as const
export type ConfinedHint = (typeof confinedHints)[number]

/** The hint of a failure; `undefined` if it has none. */
export const confinedHintOf = ({ details }: Pick<RunFailure, "details">): ConfinedHint | undefined =>
  confinedHints.find((hint) => hint === details?.["confined"])

/** The last lines that the program printed to stderr; `undefined` if there are none. */
export const lastWordsOf = ({ details }: Pick<RunFailure, "details">): string | undefined => {
  const words = details?.["said"]
  return typeof words === "string" && words.trim() !== "" ? words : undefined
}
