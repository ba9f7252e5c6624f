/** Open questions and plans: those of the user, and those of some runs. */
import type { HubInput, HubRun } from "@corral/domain/hub-api/HubRun"
import { queryOptions, useQueries, useQuery } from "@tanstack/react-query"
import { useMemo } from "react"
import { hubApi } from "./Hub.ts"
import { oldestFirst } from "./OldestFirst.ts"

/** Maximum count. */
const COUNTED = 100

export const pendingInputsQuery = queryOptions({
  queryKey: ["inputs", "waiting"],
  queryFn: ({ signal }) => hubApi.inputs.list({ query: { state: "pending", limit: COUNTED }, signal })
})

const none: ReadonlyArray<HubInput> = []

/** Empty while they load. */
export const usePendingInputs = (): ReadonlyArray<HubInput> =>
  useQuery(pendingInputsQuery).data?.items ?? none

export interface PendingInputsOf {
  readonly inputs: ReadonlyArray<HubInput>
  readonly isLoading: boolean
}

/** Open questions of some runs, oldest first. */
export const usePendingInputsOf = (runIds: ReadonlyArray<HubRun["id"]>): PendingInputsOf => {
  const { isLoading, items } = useQueries({
    queries: runIds.map((runId) => ({
      queryKey: ["inputs", "pending", runId],
      queryFn: ({ signal }: { readonly signal: AbortSignal }) =>
        hubApi.inputs.list({ query: { runId, state: "pending" as const, limit: COUNTED }, signal })
    })),
    combine: (results) => ({
      isLoading: results.some((result) => result.isLoading),
      items: results.flatMap(({ data }) => data?.items ?? [])
    })
  })
  return useMemo(() => ({ isLoading, inputs: oldestFirst(items) }), [isLoading, items])
}
