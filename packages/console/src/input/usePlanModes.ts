/** Modes in which an approved plan can be carried out. Only a run that may not act itself needs one: another run follows it. */
import { endsWithPlan } from "@corral/domain/approval/RunMode"
import type { HubInput } from "@corral/domain/hub-api/HubRun"
import type { RunMode } from "@corral/domain/run/Run"
import { useQuery } from "@tanstack/react-query"
import { hubApi } from "../api/Hub.ts"
import { useTargets } from "../api/ProjectsAndTargets.ts"
import { startModes } from "../start/Offer.ts"

interface PlanModes {
  readonly isLoading: boolean
  /** The usual mode first. Undefined if the run itself carries the plan out. */
  readonly modes: ReadonlyArray<RunMode> | undefined
}

export const usePlanModes = ({
  agentId,
  kind,
  projectId,
  runId,
  targetId,
  workspace
}: HubInput): PlanModes => {
  const run = useQuery({
    queryKey: ["runs", runId],
    queryFn: ({ signal }) => hubApi.runs.get({ params: { id: runId }, signal }),
    enabled: kind === "plan"
  })
  const target = useTargets(projectId).find(({ id }) => id === targetId)
  if (kind !== "plan") return { isLoading: false, modes: undefined }
  if (run.data === undefined) return { isLoading: run.isLoading, modes: undefined }
  if (!endsWithPlan(run.data.mode)) return { isLoading: false, modes: undefined }
  const offered = startModes(
    target?.workspaces.find(({ id }) => id === workspace),
    target?.agents.find(({ id }) => id === agentId)
  ).filter((mode) => !endsWithPlan(mode))
  return { isLoading: false, modes: offered.toSorted((a, b) => Number(b === "ask") - Number(a === "ask")) }
}
