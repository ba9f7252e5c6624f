/** Choice of project, device, workspace, agent and mode: what the user has just picked, the URL, the last choice, then what is offered first. */
import type { ProjectId } from "@corral/domain/identity/Ids"
import { skipToken, useQuery } from "@tanstack/react-query"
import { useState } from "react"
import { useCurrentUser } from "../api/CurrentUser.ts"
import { hubApi } from "../api/Hub.ts"
import { isAtLeast, projectsQuery, targetsQuery } from "../api/ProjectsAndTargets.ts"
import { chooseStart, placesOf, type StartWish } from "./Offer.ts"
import { readLastChoice, storeLastChoice } from "./LastChoice.ts"

export type StartChoice = ReturnType<typeof useStartChoice>

/** Workspaces that are linked to a project. Reads nothing without one. */
export const useWorkspaceLinks = (
  projectId: ProjectId | undefined,
  refetchInterval: number | false = false
) =>
  useQuery({
    queryKey: ["projects", "workspaces", projectId ?? "", "known"],
    queryFn:
      projectId === undefined
        ? skipToken
        : ({ signal }) =>
            hubApi.projects.workspaces({ params: { id: projectId }, query: { limit: 200 }, signal }),
    refetchInterval
  })

/** `search`: a choice of the URL. `refetchInterval`: while the user sets up what the choice needs. */
export const useStartChoice = (search: StartWish, refetchInterval: number | false = false) => {
  const { user } = useCurrentUser()
  const [last] = useState(() => readLastChoice(user.id))
  const [picked, setPicked] = useState<StartWish>({})
  const wish = { ...last, ...search, ...picked }

  const projects = useQuery({ ...projectsQuery, refetchInterval })
  const writable = (projects.data?.items ?? []).filter(({ role }) => isAtLeast(role, "member"))
  const project = writable.find(({ id }) => id === wish.projectId) ?? writable[0]
  const targets = useQuery({ ...targetsQuery(project?.id), enabled: project !== undefined, refetchInterval })
  const links = useWorkspaceLinks(project?.id, refetchInterval)
  const places = placesOf(targets.data?.items ?? [], links.data?.items ?? [])
  const pick = (choice: StartWish) => {
    setPicked({ ...picked, ...choice })
    storeLastChoice(user.id, { ...wish, ...choice })
  }
  const offer = chooseStart(places, wish)
  /** Stores all parts of what is used, for the next visit. */
  const remember = () => {
    const { agent, mode, place } = offer
    if (project === undefined || place === undefined || agent === undefined || mode === undefined) return
    storeLastChoice(user.id, {
      projectId: project.id,
      targetId: place.target.id,
      workspace: place.workspace.id,
      agentId: agent.id,
      mode
    })
  }
  return {
    error: projects.error ?? targets.error ?? links.error,
    isLoading:
      projects.isLoading ||
      (project !== undefined && (targets.data === undefined || links.data === undefined)),
    projects: writable,
    project,
    places,
    ...offer,
    pick,
    remember
  }
}
