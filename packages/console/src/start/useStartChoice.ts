/** Selection of device, workspace, agent and mode, with defaults from what the project's devices offer. */
import type { ProjectId } from "@corral/domain/identity/Ids"
import type { RunMode } from "@corral/domain/run/Run"
import { useQuery } from "@tanstack/react-query"
import { useState } from "react"
import { hubApi } from "../api/Hub.ts"
import { targetsQuery } from "../api/ProjectsAndTargets.ts"
import { agentsOn, startModes, targetsFor, usualMode, workspacesOn } from "./Offer.ts"
import type { StartSearch } from "./StartPage.tsx"

export type StartChoice = ReturnType<typeof useStartChoice>

/** A selected id that is no longer offered falls back to the first offered one. */
export const useStartChoice = (projectId: ProjectId, search: StartSearch) => {
  const targets = useQuery(targetsQuery(projectId))
  const links = useQuery({
    queryKey: ["projects", "workspaces", projectId, "known"],
    queryFn: ({ signal }) =>
      hubApi.projects.workspaces({ params: { id: projectId }, query: { limit: 200 }, signal })
  })
  const [targetId, selectTarget] = useState(search.targetId)
  const [workspaceId, selectWorkspace] = useState(search.workspace)
  const [agentId, selectAgent] = useState(search.agentId)
  const [preferredMode, selectMode] = useState<RunMode>()

  const reachable = targetsFor(targets.data?.items ?? [], links.data?.items ?? [])
  const target = reachable.find(({ id }) => id === targetId) ?? reachable[0]
  const workspaces = workspacesOn(target, links.data?.items ?? [])
  const workspace = workspaces.find(({ id }) => id === workspaceId) ?? workspaces[0]
  const agents = agentsOn(target)
  const agent = agents.find(({ id }) => id === agentId) ?? agents[0]
  const modes = startModes(workspace?.offered, agent)
  const mode = modes.find((each) => each === preferredMode) ?? usualMode(modes)
  return {
    error: targets.error ?? links.error,
    isLoading: targets.data === undefined || links.data === undefined,
    targets: reachable,
    target,
    selectTarget,
    workspaces,
    workspace,
    selectWorkspace,
    agents,
    agent,
    selectAgent,
    modes,
    mode,
    selectMode
  }
}
