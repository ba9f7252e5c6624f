/** Pending approvals of some runs, oldest first. */
import type { HubApproval, HubRun } from "@corral/domain/hub-api/HubRun"
import { useQueries } from "@tanstack/react-query"
import { hubApi } from "../api/Hub.ts"
import { oldestFirst } from "../api/OldestFirst.ts"

/** Approvals of one run that are read. */
const MOST = 200

export interface PendingApprovalsOf {
  readonly approvals: ReadonlyArray<HubApproval>
  readonly isLoading: boolean
}

export const usePendingApprovalsOf = (runIds: ReadonlyArray<HubRun["id"]>): PendingApprovalsOf =>
  useQueries({
    queries: runIds.map((runId) => ({
      queryKey: ["approvals", "pending", runId],
      queryFn: ({ signal }: { readonly signal: AbortSignal }) =>
        hubApi.approvals.list({ query: { runId, state: "pending" as const, limit: MOST }, signal })
    })),
    combine: (results) => ({
      isLoading: results.some(({ isLoading }) => isLoading),
      approvals: oldestFirst(results.flatMap(({ data }) => data?.items ?? []))
    })
  })
