/**
 * What waits: pending approvals, questions, plans and changes that the user's role can decide, and the open questions of some runs. The count
 * leaves out what waits for others.
 */
import type { HubApproval, HubChangeSet, HubInput, HubRun } from "@corral/domain/hub-api/HubRun"
import type { RunId } from "@corral/domain/identity/Ids"
import { queryOptions, useQueries, useQuery } from "@tanstack/react-query"
import { useMemo } from "react"
import { hubApi } from "./Hub.ts"
import { type Rights, useRights } from "./ProjectsAndTargets.ts"

/**
 * Order of approvals and questions: oldest first. Ids of one device are in the order in which it made them, so that requests of one millisecond
 * have the same order in every list and at every reading. Pure.
 */
interface Request {
  readonly id: string
  /** ISO 8601. */
  readonly requestedAt: string
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

export const oldestFirst = <A extends Request>(requests: ReadonlyArray<A>): ReadonlyArray<A> =>
  requests.toSorted((a, b) => compare(a.requestedAt, b.requestedAt) || compare(a.id, b.id))

/** Approvals of one run that are read. */
const MOST = 200

interface PendingApprovalsOf {
  readonly approvals: ReadonlyArray<HubApproval>
  readonly isLoading: boolean
}

/** Pending approvals of some runs, oldest first. */
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

/** Maximum count. */
const COUNTED = 100

export const pendingInputsQuery = queryOptions({
  queryKey: ["inputs", "waiting"],
  queryFn: ({ signal }) => hubApi.inputs.list({ query: { state: "pending", limit: COUNTED }, signal })
})

const noInputs: ReadonlyArray<HubInput> = []

/** Empty while they load. */
export const usePendingInputs = (): ReadonlyArray<HubInput> =>
  useQuery(pendingInputsQuery).data?.items ?? noInputs

interface PendingInputsOf {
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

export const pendingCountQuery = queryOptions({
  queryKey: ["approvals", "waiting"],
  queryFn: ({ signal }) => hubApi.approvals.list({ query: { state: "pending", limit: COUNTED }, signal })
})

/** Change sets about which a person can decide now. */
export const openChangesQuery = queryOptions({
  queryKey: ["changeSets", "waiting"],
  queryFn: ({ signal }) => hubApi.changeSets.list({ query: { state: "open", limit: COUNTED }, signal })
})

/** Requests that block an agent. */
export interface PendingRequests {
  readonly approvals: ReadonlyArray<HubApproval>
  readonly inputs: ReadonlyArray<HubInput>
}

interface Pending extends PendingRequests {
  /** Of a group of candidates, one. */
  readonly changes: ReadonlyArray<HubChangeSet>
}

/** The requests that the user can answer. Pure. */
export const pendingFor = (
  { mayDecide, mayWork }: Rights,
  { approvals, inputs }: PendingRequests
): PendingRequests => ({
  approvals: approvals.filter(({ projectId }) => mayDecide(projectId)),
  inputs: inputs.filter(({ kind, projectId }) => (kind === "plan" ? mayDecide : mayWork)(projectId))
})

/** Change sets without those of candidates, but the first of each group: one decision is about all of them. Pure. */
export const oneOfEachGroup = <A extends Pick<HubChangeSet, "groupId">>(
  sets: ReadonlyArray<A>
): ReadonlyArray<A> => {
  const seen = new Set<string>()
  return sets.filter(({ groupId }) => {
    if (groupId === undefined) return true
    const isFirst = !seen.has(groupId)
    seen.add(groupId)
    return isFirst
  })
}

const none: ReadonlyArray<HubApproval> = []
const noChanges: ReadonlyArray<HubChangeSet> = []

/** Empty while they load. */
export const usePending = (): Pending => {
  const rights = useRights()
  const approvals = useQuery(pendingCountQuery).data?.items ?? none
  const inputs = usePendingInputs()
  const changes = useQuery(openChangesQuery).data?.items ?? noChanges
  return useMemo(
    () => ({
      ...pendingFor(rights, { approvals, inputs }),
      changes: oneOfEachGroup(changes.filter(({ projectId }) => rights.mayDecide(projectId)))
    }),
    [approvals, changes, inputs, rights]
  )
}

/** Number of what waits. Zero while it is unknown. */
export const usePendingCount = (): number => {
  const { approvals, changes, inputs } = usePending()
  return approvals.length + inputs.length + changes.length
}

/** Runs that wait for the user. The lists of what waits can be newer than the runs. */
export const useWaitingRuns = (): ReadonlySet<RunId> => {
  const { approvals, inputs } = usePending()
  return useMemo(() => new Set([...approvals, ...inputs].map(({ runId }) => runId)), [approvals, inputs])
}
