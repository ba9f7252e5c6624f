/**
 * Choice of the means that confines the runs of an Edge, by trying those of this system one after the other.
 *
 * Guarantees: where the setting requires a confinement, only a means that closes the network counts (ADR 64).
 */
import { Effect } from "effect"
import type { EdgeConfig } from "../config/EdgeConfig.ts"
import { tryBubblewrap } from "./Bubblewrap.ts"
import type { ConfinementMeans, Machine, MeansTrial, MissingMeans } from "./Means.ts"

const trials: Partial<Record<NodeJS.Platform, ReadonlyArray<MeansTrial>>> = {
  linux: [tryBubblewrap]
}

const NO_MEANS: MissingMeans = {
  problem: "Runs can be confined on Linux only.",
  hint: "Use a Linux device for runs that must be confined."
}

/** The means that works, and what a better one lacks. Without a means, what all lack. */
export type MeansFound =
  | { readonly means: ConfinementMeans; readonly missing: MissingMeans | undefined }
  | { readonly means: undefined; readonly missing: MissingMeans }

/** The problem is that of the first means; the hints are those of all. */
const summary = ([first, ...others]: ReadonlyArray<MissingMeans>): MissingMeans | undefined =>
  first && { problem: first.problem, hint: [first, ...others].map(({ hint }) => hint).join(" ") }

/** The first means that works. */
export const chooseMeans = Effect.fnUntraced(function* (
  setting: EdgeConfig["confinement"],
  machine: Machine,
  candidates: ReadonlyArray<MeansTrial> = trials[process.platform] ?? []
): Effect.fn.Return<MeansFound> {
  const missing: Array<MissingMeans> = []
  for (const attempt of candidates) {
    const found = yield* attempt(machine)
    if ("problem" in found) missing.push(found)
    else if (found.network === "closed" || setting !== "required")
      return { means: found, missing: summary(missing) }
  }
  return { means: undefined, missing: summary(missing) ?? NO_MEANS }
})
