/** Number of pending approvals and questions for screen readers. Those of the open thread are left out: the thread says itself that it needs its reader. */
import { useLocation } from "@tanstack/react-router"
import { useLatestRuns } from "../api/LatestRuns.ts"
import { usePending } from "../api/PendingCount.ts"
import { useMessages } from "../text/Language.tsx"
import { appMessages } from "./messages.ts"

export const PendingAnnouncement = () => {
  const messages = useMessages(appMessages)
  const { pathname } = useLocation()
  const runs = useLatestRuns()
  const { approvals, inputs } = usePending()
  const open = pathname.split("/")[2] ?? ""
  const isOpen = (runId: string): boolean =>
    open !== "" && (runId === open || runs.find(({ id }) => id === runId)?.sessionId === open)
  const elsewhere = [...approvals, ...inputs].filter(({ runId }) => !isOpen(runId)).length
  return (
    <span className="hidden" role="status">
      {elsewhere > 0 ? messages.waiting(elsewhere) : ""}
    </span>
  )
}
