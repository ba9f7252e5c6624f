/** The side panel of a thread, loaded when it is first opened. */
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import { lazy, Suspense } from "react"
import type { PanelTab } from "../review/PanelTab.ts"
import { Loading } from "../ui/Loading.tsx"

const ReviewPanel = lazy(async () => {
  const { ReviewPanel: component } = await import("../review/ReviewPanel.tsx")
  return { default: component }
})

interface Props {
  readonly run: HubRun
  readonly runs: ReadonlyArray<HubRun>
  readonly tab: PanelTab
  readonly onTab: (tab: PanelTab) => void
  readonly onRun: (runId: HubRun["id"]) => void
  readonly onClose: () => void
  readonly onComments?: (text: string) => Promise<unknown>
}

export const SidePanel = (props: Props) => (
  <Suspense fallback={<Loading />}>
    <ReviewPanel {...props} />
  </Suspense>
)
