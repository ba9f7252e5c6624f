/**
 * The turn that a review shows. A page that follows the newest turn moves on when one starts; a review stays where its reader is, and only says
 * that the files changed.
 */
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import { useState } from "react"

interface PinnedRun {
  readonly shown: HubRun["id"]
  readonly selected: HubRun["id"]
  readonly runs: ReadonlyArray<HubRun>
}

/** The shown turn, and a function that shows another one. */
export const usePinnedRun = (
  run: HubRun,
  runs: ReadonlyArray<HubRun>
): readonly [HubRun, (runId: HubRun["id"]) => void] => {
  const [pin, setPin] = useState<PinnedRun>({ shown: run.id, selected: run.id, runs })
  if (pin.selected !== run.id || pin.runs !== runs) {
    const isNewTurn = pin.runs.every(({ id }) => id !== run.id)
    const isMoved = pin.selected !== run.id && !isNewTurn
    setPin({ shown: isMoved ? run.id : pin.shown, selected: run.id, runs })
  }
  const show = (runId: HubRun["id"]) => setPin((current) => ({ ...current, shown: runId }))
  return [runs.find(({ id }) => id === pin.shown) ?? run, show]
}
