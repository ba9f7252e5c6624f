/** Status of each session that is not idle, as it changes. */
import type { SessionId } from "@corral/domain/identity/Ids"
import { useQuery } from "@tanstack/react-query"
import { useMemo } from "react"
import { useLatestRuns } from "../api/LatestRuns.ts"
import { pendingCountQuery } from "../api/PendingCount.ts"
import { sessionStatuses, type WorkStatus } from "./SessionStatus.ts"

export const useSessionStatuses = (): ReadonlyMap<SessionId, WorkStatus> => {
  const runs = useLatestRuns()
  const approvals = useQuery(pendingCountQuery).data?.items
  return useMemo(() => sessionStatuses(runs, approvals ?? []), [runs, approvals])
}
