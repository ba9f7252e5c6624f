/**
 * Choice of the means that confines the runs of an Edge, by trying those of this system one after the other. Also the check of a proxy that the
 * environment names.
 *
 * Guarantees: where the setting requires a confinement, only a means that closes the network counts (ADR 64).
 */
import { Effect } from "effect"
import type { EdgeConfig } from "../config/EdgeConfig.ts"
import { tryBubblewrap } from "./Bubblewrap.ts"
import { tryLandlock } from "./Landlock.ts"
import type { ConfinementMeans, MachineFolders, MeansTrial, MissingMeans } from "./Means.ts"
import { trySeatbelt } from "./Seatbelt.ts"

// A proxy that the Edge's own environment names. Confined runs connect through the proxy of their run only, so on a machine that reaches the
// internet through a proxy they would reach nothing. Pure.

const NAMES = ["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"]

/** Why runs are not confined where the setting leaves that to the machine. */
export const namedProxyProblem = (
  environment: Readonly<Record<string, string>>
): MissingMeans | undefined => {
  const name = NAMES.find((each) => (environment[each] ?? "") !== "")
  if (name === undefined) return undefined
  return {
    problem: `${name} names a proxy, which confined runs cannot use.`,
    hint: `If this machine reaches the internet without it, start the Edge without ${name}, or set CORRAL_EDGE_CONFINEMENT=required.`
  }
}

/** Means of a system, in the order in which they are tried. `open`: those that do not limit the network. */
export interface MeansTrials {
  readonly closed: ReadonlyArray<MeansTrial>
  readonly open: ReadonlyArray<MeansTrial>
}

/** Means of the system. */
export const trialsOf = (platform: NodeJS.Platform): MeansTrials => {
  switch (platform) {
    case "linux":
      return { closed: [tryBubblewrap], open: [tryLandlock] }
    case "darwin":
      return { closed: [trySeatbelt], open: [] }
    default:
      return { closed: [], open: [] }
  }
}

const NO_MEANS: MissingMeans = {
  problem: "Runs can be confined on Linux and macOS only.",
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
  machine: MachineFolders,
  trials: MeansTrials = trialsOf(process.platform)
): Effect.fn.Return<MeansFound> {
  const missing: Array<MissingMeans> = []
  for (const attempt of setting === "required" ? trials.closed : [...trials.closed, ...trials.open]) {
    const found = yield* attempt(machine)
    if (!("problem" in found)) return { means: found, missing: summary(missing) }
    missing.push(found)
  }
  return { means: undefined, missing: summary(missing) ?? NO_MEANS }
})
