/** What happens in a project: how many of its runs need the user, and how many work. Nothing for a quiet one. */
import type { ProjectId } from "@corral/domain/identity/Ids"
import { useMemo } from "react"
import { useLatestRuns } from "../api/LatestRuns.ts"
import { useWaitingRuns } from "../api/PendingCount.ts"
import { useOfflineTargets, useRights } from "../api/ProjectsAndTargets.ts"
import { runStatus, type WorkStatus } from "../status/SessionStatus.ts"
import { StatusMark } from "../status/StatusMark.tsx"

/** Statuses that are counted, in their order. */
const counted = ["needsYou", "working"] as const satisfies ReadonlyArray<WorkStatus>

export const ProjectActivity = ({ id }: { readonly id: ProjectId }) => {
  const runs = useLatestRuns()
  const waiting = useWaitingRuns()
  const offline = useOfflineTargets()
  const rights = useRights()
  const statuses = useMemo(
    () =>
      runs
        .filter(({ projectId }) => projectId === id)
        .map((run) => runStatus(run, { offline, rights, waiting })),
    [id, offline, rights, runs, waiting]
  )
  return counted.map((status) => {
    const count = statuses.filter((each) => each === status).length
    return count === 0 ? null : (
      <span key={status} className="project-activity">
        <StatusMark status={status} /> <span className="quiet">{count}</span>
      </span>
    )
  })
}
