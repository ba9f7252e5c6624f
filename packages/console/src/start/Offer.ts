/** Choices for a new run: devices, workspaces, agents and modes that are linked and offered. Pure. */
import type { Agent } from "@corral/domain/run/Agent"
import type { Target } from "@corral/domain/device/Device"
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

/** Available agents first, otherwise in the order of the device. */
export const agentsOn = (target: Target | undefined): ReadonlyArray<Agent> =>
  (target?.agents ?? []).toSorted((a, b) => Number(b.available) - Number(a.available))

/** Modes that both the workspace and the agent allow, most restrictive first. */
export const startModes = (
  workspace: Workspace | undefined,
  agent: Agent | undefined
): ReadonlyArray<RunMode> =>
  (workspace?.modes ?? []).filter((mode) => agent?.modes === undefined || agent.modes.includes(mode))

/** Default mode: `ask`, or the most restrictive one. */
export const usualMode = (modes: ReadonlyArray<RunMode>): RunMode | undefined =>
  modes.includes("ask") ? "ask" : modes[0]
