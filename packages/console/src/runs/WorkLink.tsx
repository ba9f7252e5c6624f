/** Link to the session of a run, or to the run's page without one, titled like its session. */
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import { Link } from "@tanstack/react-router"
import type { ReactNode } from "react"
import { useSessionTitle } from "../api/Sessions.ts"
import { visibleLine } from "../markdown/visible.ts"
import { promptTitle } from "./RunRows.tsx"

/** Title of the run's session. The prompt of a later turn can begin with the earlier conversation. */
export const useWorkTitle = (run: {
  readonly input: { readonly text: string }
  readonly sessionId?: HubRun["sessionId"] | undefined
}): string => {
  const title = useSessionTitle(run.sessionId)
  return visibleLine(title ?? promptTitle(run.input.text), 120)
}

interface Props {
  readonly runId: HubRun["id"]
  readonly sessionId: HubRun["sessionId"]
  readonly className: string
  readonly children: ReactNode
}

export const WorkLink = ({ children, className, runId, sessionId }: Props) =>
  sessionId === undefined ? (
    <Link to="/runs/$runId" params={{ runId }} className={className}>
      {children}
    </Link>
  ) : (
    <Link to="/sessions/$sessionId" params={{ sessionId }} className={className}>
      {children}
    </Link>
  )
