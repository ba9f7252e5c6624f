/** The side panel of a thread: its tab and its turn, which are in the address. */
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import { useNavigate } from "@tanstack/react-router"
import { useMemo } from "react"
import { isPanelTab, type PanelTab } from "../review/PanelTab.ts"

export interface ThreadPanel {
  /** Undefined while the panel is closed. */
  readonly tab: PanelTab | undefined
  /** The turn that is shown. Without one it is the newest. */
  readonly runId: HubRun["id"] | undefined
  /** Opens a tab, or closes the panel. */
  readonly open: (tab: PanelTab | undefined) => void
  /** Shows another turn. */
  readonly show: (runId: HubRun["id"]) => void
  readonly openRun: (runId: HubRun["id"], tab: PanelTab) => void
}

/** `panel` and `runId` are search parameters of the page. */
export const useThreadPanel = (panel: string | undefined, runId: HubRun["id"] | undefined): ThreadPanel => {
  const navigate = useNavigate()
  return useMemo(() => {
    const tab = isPanelTab(panel) ? panel : undefined
    const go = (next: PanelTab | undefined, run: string | undefined) =>
      void navigate({
        to: ".",
        replace: true,
        search: {
          ...(next === undefined ? {} : { panel: next }),
          ...(run === undefined || next === undefined ? {} : { run })
        }
      })
    return {
      tab,
      runId,
      open: (next) => go(next, runId),
      show: (run) => go(tab, run),
      openRun: (run, next) => go(next, run)
    }
  }, [navigate, panel, runId])
}
