/** Choices for new work: devices, workspaces, agents and modes that are linked and offered. Pure. */
import type { Agent } from "@corral/domain/run/Agent"
import type { Target } from "@corral/domain/device/Device"
import { findAgent, modesIn, usualAgent, usualMode } from "@corral/domain/offer/Offer"
import type { WorkspaceLink } from "@corral/domain/project/Project"
import type { RunMode } from "@corral/domain/run/Run"
import type { Workspace } from "@corral/domain/device/Workspace"

/** Targets with a linked workspace of the project, online targets first. */
export const targetsFor = (
  targets: ReadonlyArray<Target>,
  links: ReadonlyArray<WorkspaceLink>
): ReadonlyArray<Target> =>
  targets
    .filter(({ id }) => links.some(({ targetId }) => targetId === id))
    .toSorted((a, b) => Number(b.state === "online") - Number(a.state === "online"))

/** Linked workspace. `offered` is undefined if its device no longer offers it. */
export interface OfferedWorkspace {
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

export interface StartOffer {
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
  const agent = findAgent(available, wish.agentId) ?? usualAgent(available)
  const modes = startModes(place?.workspace.offered, agent)
  const mode = modes.find((each) => each === wish.mode) ?? usualMode(modes)
  const model = agent !== undefined && agent === findAgent(available, wish.agentId) ? wish.model : undefined
  return { place, agents, agent, modes, mode, model }
}
