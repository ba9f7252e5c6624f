/** Turns that are not confined for a reason that an earlier turn of the thread says. Pure. */
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import { confinementFailure } from "@corral/domain/run/ConfinementText"
import type { ThreadEntry } from "./Turns.ts"

/** Runs of the turns whose reason need not be said again. */
export const repeatedReasons = (
  entries: ReadonlyArray<ThreadEntry>,
  runs: ReadonlyMap<HubRun["id"], HubRun>
): ReadonlySet<HubRun["id"]> => {
  const seen = new Set<string>()
  const repeated = new Set<HubRun["id"]>()
  for (const entry of entries) {
    const run = entry.kind === "turn" ? runs.get(entry.runId) : undefined
    const reason = run?.confinement && confinementFailure(run.confinement, run.mode)
    if (run === undefined || reason === undefined) continue
    if (seen.has(reason)) repeated.add(run.id)
    else seen.add(reason)
  }
  return repeated
}
