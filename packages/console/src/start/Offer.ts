/** What can be started where: the workspaces that a project links, as far as their devices offer them, and the modes that fit. Pure. */
import type { Agent } from "@corral/domain/run/Agent"
import type { Target } from "@corral/domain/device/Device"
import type { WorkspaceLink } from "@corral/domain/project/Project"
import type { RunMode } from "@corral/domain/run/Run"
import type { Workspace } from "@corral/domain/device/Workspace"

/** Targets on which the project links a workspace, those that are there first. */
export const targetsFor = (
  targets: ReadonlyArray<Target>,
  links: ReadonlyArray<WorkspaceLink>
): ReadonlyArray<Target> =>
  targets
    .filter(({ id }) => links.some(({ targetId }) => targetId === id))
    .toSorted((a, b) => Number(b.state === "online") - Number(a.state === "online"))

/** A linked workspace, and the device's word of it where it offers it still. */
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

/** Available agents first, else in the device's order. */
export const agentsOn = (target: Target | undefined): ReadonlyArray<Agent> =>
  (target?.agents ?? []).toSorted((a, b) => Number(b.available) - Number(a.available))

/** Modes that both allow, the most careful first. */
export const offeredModes = (
  workspace: Workspace | undefined,
  agent: Agent | undefined
): ReadonlyArray<RunMode> =>
  (workspace?.modes ?? []).filter((mode) => agent?.modes === undefined || agent.modes.includes(mode))

/** What a person most likely wants: to be asked. */
export const usualMode = (modes: ReadonlyArray<RunMode>): RunMode | undefined =>
  modes.includes("ask") ? "ask" : modes[0]
