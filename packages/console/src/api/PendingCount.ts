/** Pending approvals, as counted by the bell. */
import { queryOptions, useQuery } from "@tanstack/react-query"
import { hubApi } from "./Hub.ts"

/** Maximum count. */
const COUNTED = 100

export const pendingCountQuery = queryOptions({
  queryKey: ["approvals", "waiting"],
  queryFn: ({ signal }) => hubApi.approvals.list({ query: { state: "pending", limit: COUNTED }, signal })
})

/** Number of pending approvals. Zero while it is unknown. */
export const usePendingCount = (): number => useQuery(pendingCountQuery).data?.items.length ?? 0
