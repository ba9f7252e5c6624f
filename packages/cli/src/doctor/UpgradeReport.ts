/** Text of `corral doctor --upgrade`: whether the live runs of this home continue under this version. */
import type { HolderFound } from "@corral/edge/holder/HolderControl"

const countOf = (runs: number): string => (runs === 1 ? "1 live run" : `${runs} live runs`)

export const formatUpgrade = (found: HolderFound | undefined, version: string): string => {
  if (found === undefined || found.runs === 0)
    return `No run is live. Corral ${version} can be started instead of a running one.\n`
  const { build, isCompatible, runs } = found
  return isCompatible
    ? `${countOf(runs)} of Corral ${build} ${runs === 1 ? "continues" : "continue"} under Corral ${version}. Stop the running Corral, then start this one.\n`
    : `Corral ${version} cannot continue ${countOf(runs)} of Corral ${build}. Let ${runs === 1 ? "it" : "them"} end, or cancel ${runs === 1 ? "it" : "them"}, before you start this version.\n`
}
