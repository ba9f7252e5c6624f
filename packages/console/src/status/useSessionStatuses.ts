/** Status of each session that is not idle, as it changes. */
import type { SessionId } from "@corral/domain/identity/Ids"
import { useMemo } from "react"
import { useOfflineTargets, useRights } from "../api/ProjectsAndTargets.ts"
import { useLatestRuns } from "../api/LatestRuns.ts"
import { useWaitingRuns } from "../api/PendingCount.ts"
import { sessionStatuses, type WorkStatus } from "./SessionStatus.ts"

export const useSessionStatuses = (): ReadonlyMap<SessionId, WorkStatus> => {
  const runs = useLatestRuns()
  const waiting = useWaitingRuns()
  const offline = useOfflineTargets()
  const rights = useRights()
  return useMemo(() => sessionStatuses(runs, { offline, rights, waiting }), [offline, rights, runs, waiting])
}
