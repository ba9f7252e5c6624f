/**
 * Check of a task against the last offer of its target. Pure.
 *
 * Does not replace the check on the Edge: its inventory may have changed by the time it starts the run.
 */
import type { Target } from "@corral/domain/device/Device"
import {
  Conflict,
  InvalidAgentId,
  PermissionDenied,
  RuntimeUnavailable,
  SchemaValidationFailed,
  WorkspaceOutsideAllowlist
} from "@corral/domain/errors/Failures"
import { CANDIDATES_FEATURE, LAYERS_FEATURE } from "@corral/domain/link/EdgeCommand"
import { findAgent, modesIn, needsIsolation } from "@corral/domain/offer/Offer"
import type { CreateRun, RunMode } from "@corral/domain/run/Run"
import { runtimeRemedyOf } from "@corral/domain/run/RuntimeRemedy"
import { findBudgetRefusal } from "../device/DeviceRow.ts"

export type OfferRefusal =
  | Conflict
  | InvalidAgentId
  | PermissionDenied
  | RuntimeUnavailable
  | SchemaValidationFailed
  | WorkspaceOutsideAllowlist

export const validationFailure = (path: string, message: string) =>
  new SchemaValidationFailed({ details: { issues: [{ path, message }] } })

const modeRefusal = (message: string, mode: string, modes: ReadonlyArray<string>) =>
  new PermissionDenied({ message, details: { mode, modes } })

const unavailable = (label: string, reason: string | undefined): string => {
  switch (runtimeRemedyOf({ code: "runtime_unavailable", details: { reason } })) {
    case "install":
      return `${label} is not installed on the device.`
    case "sign_in":
      return `${label} is not signed in on the device.`
    default:
      return `${label} is not available on the device.`
  }
}

/** The Edge has no groups of runs, no checks, and no comments and edits in decisions. */
export const candidatesUnsupported = () =>
  new Conflict({
    message:
      "The Edge of this device is too old for several candidates, and for comments on changes. Update it.",
    details: { reason: "edge_outdated" }
  })

type Offer = Pick<Target, "agents" | "workspaces">

/** Modes in which the agent runs in the workspace; `undefined` if one of them is not offered. */
export const offeredModes = (
  { agents, workspaces }: Offer,
  { agentId, isolation, workspace: id }: Pick<CreateRun, "agentId" | "isolation" | "workspace">
): ReadonlyArray<RunMode> | undefined => {
  const agent = findAgent(agents, agentId)
  const workspace = workspaces.find((offered) => offered.id === id)
  if (agent === undefined || workspace === undefined) return undefined
  return modesIn(workspace, agent, isolation)
}

/** Why the task can't run there; `undefined` where it can. An agent of an offline target need not be available now. */
export const findOfferRefusal = (
  { agents, commands = [], workspaces }: Offer & { readonly commands?: ReadonlyArray<string> },
  { agentId, budget, groupId, isolation, mode, resume, workspace: id }: CreateRun,
  isPresent: boolean
): OfferRefusal | undefined => {
  const agent = findAgent(agents, agentId)
  if (agent === undefined) return new InvalidAgentId()
  const workspace = workspaces.find((offered) => offered.id === id)
  if (workspace === undefined) return new WorkspaceOutsideAllowlist()
  if (!workspace.modes.includes(mode))
    return modeRefusal(`The workspace's policy does not grant the mode ${mode}.`, mode, workspace.modes)
  if (agent.modes?.includes(mode) === false)
    return modeRefusal(`${agent.label} does not run in the mode ${mode}.`, mode, agent.modes)
  if (resume === undefined && needsIsolation(agent, mode, isolation ?? workspace.isolation))
    return new PermissionDenied({
      message: `${agent.label} does not ask for approval before it acts, so in ask it runs only in a worktree or a layer.`,
      details: { reason: "isolation", mode }
    })
  if (resume !== undefined && !agent.capabilities.resume)
    return validationFailure("resume", "Expected an agent that can resume an earlier run")
  if (isolation === "worktree" && !workspace.git)
    return validationFailure("isolation", "Expected a workspace that is a Git repository")
  if (isolation === "overlay" && !commands.includes(LAYERS_FEATURE))
    return new Conflict({
      message: "The Edge of this device is too old for layers. Update it.",
      details: { reason: "edge_outdated" }
    })
  if (groupId !== undefined && !commands.includes(CANDIDATES_FEATURE)) return candidatesUnsupported()
  const uncounted = findBudgetRefusal(agent, budget)
  if (uncounted !== undefined) return uncounted
  if (agent.available || !isPresent) return undefined
  const { hint, label, reason } = agent
  return new RuntimeUnavailable({
    message: unavailable(label, reason),
    details: { ...(reason === undefined ? {} : { reason }), ...(hint === undefined ? {} : { hint }) }
  })
}
