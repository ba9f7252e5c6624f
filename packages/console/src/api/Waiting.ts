/** The approvals that wait for a decision: what the bell counts. */
import { queryOptions, useQuery } from "@tanstack/react-query"
import { hubApi } from "./Hub.ts"

/** Counted up to here; beyond it a number says nothing more. */
const COUNTED = 100

export const waitingQuery = queryOptions({
  queryKey: ["approvals", "waiting"],
  queryFn: ({ signal }) => hubApi.approvals.list({ query: { state: "pending", limit: COUNTED }, signal })
})

/** How many wait, as far as is known. */
export const useWaiting = (): number => useQuery(waitingQuery).data?.items.length ?? 0
