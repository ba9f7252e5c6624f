/**
 * Choice of project, device, workspace, agent, mode and model: what the user has just picked, the URL, the last choice in the project, then what is
 * offered first.
 */
import type { ProjectId } from "@corral/domain/identity/Ids"
import { withChoice } from "@corral/domain/preference/ChangedPreferences"
import type { LastChoice } from "@corral/domain/preference/Preferences"
import { skipToken, useQuery } from "@tanstack/react-query"
import { useState } from "react"
import { hubApi } from "../api/Hub.ts"
import { isAtLeast, projectsQuery, targetsQuery } from "../api/ProjectsAndTargets.ts"
import { preferencesQuery, useChangePreferences } from "../preference/StoredPreferences.ts"
import { chooseStart, placesOf, type StartOffer, type StartWish } from "./Offer.ts"

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

/** The last choices when they were first there: those of another browser do not change a choice that the user looks at. */
const useLastChoices = () => {
  const { data, isLoading } = useQuery(preferencesQuery)
  const [first, setFirst] = useState<ReadonlyArray<LastChoice>>()
  if (first === undefined && data !== undefined) setFirst(data.lastChoices ?? [])
  return { last: first ?? [], isLoadingLast: isLoading }
}

/** `search`: a choice of the URL. `refetchInterval`: while the user sets up what the choice needs. */
export const useStartChoice = (search: StartWish, refetchInterval: number | false = false) => {
  const { isLoadingLast, last } = useLastChoices()
  const change = useChangePreferences()
  const [picked, setPicked] = useState<StartWish>({})
  const [latest] = last
  const wished = { ...(latest === undefined ? {} : { projectId: latest.projectId }), ...search, ...picked }

  const projects = useQuery({ ...projectsQuery, refetchInterval })
  const writable = (projects.data?.items ?? []).filter(({ role }) => isAtLeast(role, "member"))
  const project = writable.find(({ id }) => id === wished.projectId) ?? writable[0]
  const targets = useQuery({ ...targetsQuery(project?.id), enabled: project !== undefined, refetchInterval })
  const links = useWorkspaceLinks(project?.id, refetchInterval)
  const places = placesOf(targets.data?.items ?? [], links.data?.items ?? [])
  const wish = { ...last.find(({ projectId }) => projectId === project?.id), ...wished }
  const offer = chooseStart(places, wish)
  /** Stores all parts of an offer, for the next visit from any browser. */
  const remember = ({ agent, mode, model, place }: StartOffer = offer) => {
    if (project === undefined || place === undefined || agent === undefined || mode === undefined) return
    const choice: LastChoice = {
      projectId: project.id,
      targetId: place.target.id,
      workspace: place.workspace.id,
      agentId: agent.id,
      mode,
      ...(model === undefined ? {} : { model })
    }
    change(({ lastChoices }) => ({ lastChoices: withChoice(lastChoices, choice) }))
  }
  const pick = (choice: StartWish) => {
    setPicked({ ...picked, ...choice })
    // What another project offers is not there yet.
    if (choice.projectId === undefined) remember(chooseStart(places, { ...wish, ...choice }))
  }
  return {
    error: projects.error ?? targets.error ?? links.error,
    isLoading:
      projects.isLoading ||
      isLoadingLast ||
      (project !== undefined && (targets.data === undefined || links.data === undefined)),
    projects: writable,
    project,
    places,
    ...offer,
    pick,
    /** Stores what is used. */
    remember: () => remember()
  }
}
