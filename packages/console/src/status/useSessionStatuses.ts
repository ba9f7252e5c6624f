/** Status of each session that is not idle, as it changes. */
import type { SessionId } from "@corral/domain/identity/Ids"
import { useQuery } from "@tanstack/react-query"
import { useMemo } from "react"
import { useOfflineTargets } from "../api/ProjectsAndTargets.ts"
import { useLatestRuns } from "../api/LatestRuns.ts"
import { pendingCountQuery } from "../api/PendingCount.ts"
import { sessionStatuses, type WorkStatus } from "./SessionStatus.ts"

export const useSessionStatuses = (): ReadonlyMap<SessionId, WorkStatus> => {
  const runs = useLatestRuns()
  const approvals = useQuery(pendingCountQuery).data?.items
  const offline = useOfflineTargets()
  return useMemo(() => {
    const waiting = new Set((approvals ?? []).map(({ runId }) => runId))
    return sessionStatuses(runs, { offline, waiting })
  }, [approvals, offline, runs])
}
