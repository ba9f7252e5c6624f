/** What waits for the user: pending approvals, questions and plans that the user's role can answer. What waits for others is not counted. */
import type { HubApproval, HubInput } from "@corral/domain/hub-api/HubRun"
import type { RunId } from "@corral/domain/identity/Ids"
import { queryOptions, useQuery } from "@tanstack/react-query"
import { useMemo } from "react"
import { hubApi } from "./Hub.ts"
import { usePendingInputs } from "./PendingInputs.ts"
import { type Rights, useRights } from "./ProjectsAndTargets.ts"

/** Maximum count. */
const COUNTED = 100

export const pendingCountQuery = queryOptions({
  queryKey: ["approvals", "waiting"],
  queryFn: ({ signal }) => hubApi.approvals.list({ query: { state: "pending", limit: COUNTED }, signal })
})

export interface Pending {
  readonly approvals: ReadonlyArray<HubApproval>
  readonly inputs: ReadonlyArray<HubInput>
}

/** The part of what waits that the user can answer. Pure. */
export const pendingFor = ({ mayDecide, mayWork }: Rights, { approvals, inputs }: Pending): Pending => ({
  approvals: approvals.filter(({ projectId }) => mayDecide(projectId)),
  inputs: inputs.filter(({ kind, projectId }) => (kind === "plan" ? mayDecide : mayWork)(projectId))
})

const none: ReadonlyArray<HubApproval> = []

/** Empty while they load. */
export const usePending = (): Pending => {
  const rights = useRights()
  const approvals = useQuery(pendingCountQuery).data?.items ?? none
  const inputs = usePendingInputs()
  return useMemo(() => pendingFor(rights, { approvals, inputs }), [approvals, inputs, rights])
}

/** Number of what waits. Zero while it is unknown. */
export const usePendingCount = (): number => {
  const { approvals, inputs } = usePending()
  return approvals.length + inputs.length
}

/** Runs that wait for the user. The lists of what waits can be newer than the runs. */
export const useWaitingRuns = (): ReadonlySet<RunId> => {
  const { approvals, inputs } = usePending()
  return useMemo(() => new Set([...approvals, ...inputs].map(({ runId }) => runId)), [approvals, inputs])
}
