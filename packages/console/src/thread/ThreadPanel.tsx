/** The side panel of a thread, loaded when it is first opened. */
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import { useNavigate } from "@tanstack/react-router"
import { Suspense, lazy, useMemo } from "react"
import { type PanelTab, isPanelTab } from "../review/PanelTab.ts"
import type { ReviewPanelProps } from "../review/ReviewPanel.tsx"
import { useMessages } from "../text/Language.tsx"
import { Icon } from "../ui/Icon.tsx"
import { Loading } from "../ui/Loading.tsx"
import { threadMessages } from "./messages.ts"
import "./thread.css"

interface PanelButtonsProps {
  readonly tab: PanelTab | undefined
  /** Opens a tab, or closes the panel. */
  readonly onTab: (tab: PanelTab | undefined) => void
}

const buttons = [
  ["changes", "changes", "changes"],
  ["files", "folder", "panelFiles"],
  ["log", "log", "log"]
] as const

/** Buttons of the header that open the panel. */
export const PanelButtons = ({ onTab, tab }: PanelButtonsProps) => {
  const messages = useMessages(threadMessages)
  return (
    <>
      {buttons.map(([name, icon, text]) => (
        <button
          key={name}
          type="button"
          className={`icon-button panel-button panel-button-${name}`}
          title={messages[text]}
          aria-pressed={tab === name}
          onClick={() => onTab(tab === name ? undefined : name)}
        >
          <Icon name={icon} />
          <span className="panel-button-text">{messages[text]}</span>
        </button>
      ))}
    </>
  )
}

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

/** The side panel of a thread: its tab and its turn, which are in the address. `panel` and `runId` are search parameters of the page. */
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

const ReviewPanel = lazy(async () => {
  const { ReviewPanel: component } = await import("../review/ReviewPanel.tsx")
  return { default: component }
})

/** The side panel of a thread, loaded when it is first opened. */
export const SidePanel = (props: ReviewPanelProps) => (
  <Suspense fallback={<Loading />}>
    <ReviewPanel {...props} />
  </Suspense>
)
