/**
 * Choices for new work: devices, workspaces, agents and modes that are linked and offered, and which of them a new session has: what the user has just
 * picked, the URL, the last choice in the project, then what is offered first.
 */
import type { Target } from "@corral/domain/device/Device"
import type { Workspace } from "@corral/domain/device/Workspace"
import type { ProjectId } from "@corral/domain/identity/Ids"
import { findAgent, modesIn, usualAgent, usualMode } from "@corral/domain/offer/Offer"
import { withChoice } from "@corral/domain/preference/ChangedPreferences"
import type { LastChoice } from "@corral/domain/preference/Preferences"
import type { WorkspaceLink } from "@corral/domain/project/Project"
import type { Agent } from "@corral/domain/run/Agent"
import type { RunMode } from "@corral/domain/run/Run"
import { skipToken, useQuery } from "@tanstack/react-query"
import { useState } from "react"
import { hubApi } from "../api/Hub.ts"
import { isAtLeast, projectsQuery, targetsQuery } from "../api/ProjectsAndTargets.ts"
import { preferencesQuery, useChangePreferences } from "../preference/StoredPreferences.ts"

/** Targets with a linked workspace of the project, online targets first. */
export const targetsFor = (
  targets: ReadonlyArray<Target>,
  links: ReadonlyArray<WorkspaceLink>
): ReadonlyArray<Target> =>
  targets
    .filter(({ id }) => links.some(({ targetId }) => targetId === id))
    .toSorted((a, b) => Number(b.state === "online") - Number(a.state === "online"))

/** Linked workspace. `offered` is undefined if its device no longer offers it. */
interface OfferedWorkspace {
  readonly id: WorkspaceLink["workspace"]
  readonly offered: Workspace | undefined
}

export const workspacesOn = (
  target: Target | undefined,
  links: ReadonlyArray<WorkspaceLink>
): ReadonlyArray<OfferedWorkspace> =>
  links
    .filter(({ targetId }) => targetId === target?.id)
    .map(({ workspace }) => ({
      id: workspace,
      offered: target?.workspaces.find(({ id }) => id === workspace)
    }))

/** A linked workspace on its device. */
export interface WorkPlace {
  readonly target: Target
  readonly workspace: OfferedWorkspace
}

/** All workspaces of a project, those of online devices first. */
export const placesOf = (
  targets: ReadonlyArray<Target>,
  links: ReadonlyArray<WorkspaceLink>
): ReadonlyArray<WorkPlace> =>
  targetsFor(targets, links).flatMap((target) =>
    workspacesOn(target, links).map((workspace) => ({ target, workspace }))
  )

/** Whether work can be sent there, now or when its device is online. */
export const isUsable = ({ workspace: { offered } }: WorkPlace): boolean => offered?.available === true

/** Available agents first, otherwise in the order of the device. */
export const agentsOn = (target: Target | undefined): ReadonlyArray<Agent> =>
  (target?.agents ?? []).toSorted((a, b) => Number(b.available) - Number(a.available))

/** Modes of new work. An agent that is not offered limits none. */
export const startModes = (
  workspace: Workspace | undefined,
  agent: Agent | undefined
): ReadonlyArray<RunMode> =>
  agent === undefined ? (workspace?.modes ?? []) : modesIn(workspace ?? { modes: [] }, agent)

/** What a user wants, from the URL or an earlier choice. Each part may be missing, or no longer offered. */
export interface StartWish {
  readonly projectId?: string
  readonly targetId?: string
  readonly workspace?: string
  readonly agentId?: string
  readonly mode?: string
  /** Of that agent. Undefined for the agent's usual one. */
  readonly model?: string | undefined
}

interface StartOffer {
  readonly place: WorkPlace | undefined
  readonly agents: ReadonlyArray<Agent>
  readonly agent: Agent | undefined
  readonly modes: ReadonlyArray<RunMode>
  readonly mode: RunMode | undefined
  readonly model: string | undefined
}

/** What is offered now and closest to the wish: a part that is not offered falls back to the first usable one. */
export const chooseStart = (places: ReadonlyArray<WorkPlace>, wish: StartWish): StartOffer => {
  const onTarget = places.filter(({ target }) => target.id === wish.targetId)
  const place =
    onTarget.find((each) => each.workspace.id === wish.workspace && isUsable(each)) ??
    onTarget.find(isUsable) ??
    places.find(isUsable) ??
    places[0]
  const agents = agentsOn(place?.target)
  const available = agents.filter(({ available: isAvailable }) => isAvailable)
  const wished = findAgent(available, wish.agentId)
  const agent = wished ?? usualAgent(available)
  const modes = startModes(place?.workspace.offered, agent)
  const mode = modes.find((each) => each === wish.mode) ?? usualMode(modes)
  const model = wished === undefined ? undefined : wish.model
  return { place, agents, agent, modes, mode, model }
}

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
