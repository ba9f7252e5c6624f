/** What waits for the user, as counted by the bell: pending approvals, questions and plans. */
import type { RunId } from "@corral/domain/identity/Ids"
import { queryOptions, useQuery } from "@tanstack/react-query"
import { useMemo } from "react"
import { hubApi } from "./Hub.ts"
import { usePendingInputs } from "./PendingInputs.ts"

/** Maximum count. */
const COUNTED = 100

export const pendingCountQuery = queryOptions({
  queryKey: ["approvals", "waiting"],
  queryFn: ({ signal }) => hubApi.approvals.list({ query: { state: "pending", limit: COUNTED }, signal })
})

/** Number of what waits. Zero while it is unknown. */
export const usePendingCount = (): number => {
  const approvals = useQuery(pendingCountQuery).data?.items.length ?? 0
  return approvals + usePendingInputs().length
}

/** Runs that wait for a person. The lists of what waits can be newer than the runs. */
export const useWaitingRuns = (): ReadonlySet<RunId> => {
  const approvals = useQuery(pendingCountQuery).data?.items
  const inputs = usePendingInputs()
  return useMemo(
    () => new Set([...(approvals ?? []), ...inputs].map(({ runId }) => runId)),
    [approvals, inputs]
  )
}
