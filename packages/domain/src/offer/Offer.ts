/**
 * Where work can go: which agents of a device are ready, in which modes an agent runs in a workspace, and what is chosen where a user chooses nothing.
 * Hub, console, chats and terminal have their rules from here. Pure.
 *
 * Does not replace the check on the Edge: its inventory may have changed by the time it starts the run.
 */
import type { Workspace } from "../device/Workspace.ts"
import type { Agent } from "../run/Agent.ts"
import type { CreateRun, RunMode } from "../run/Run.ts"

/** Whether a run of the agent can begin now. An agent that does not report its sign-in counts as signed in. */
export const isReady = ({ available, signedIn }: Pick<Agent, "available" | "signedIn">): boolean =>
  available && signedIn !== false

/** The default agent: the first that is ready. Otherwise the first that is installed, so that its user sees that it needs a sign-in. */
export const usualAgent = <A extends Pick<Agent, "available" | "signedIn">>(
  agents: ReadonlyArray<A>
): A | undefined => agents.find(isReady) ?? agents.find(({ available }) => available)

/** Whether agents with this isolation write into the workspace itself, and so take turns there. */
export const isShared = (isolation: CreateRun["isolation"] | null): boolean =>
  isolation !== "worktree" && isolation !== "overlay"

/** In the workspace itself, an agent that does not ask runs in `ask` only to continue a run that was admitted. */
export const needsIsolation = (
  { capabilities }: Pick<Agent, "capabilities">,
  mode: RunMode,
  isolation?: CreateRun["isolation"]
): boolean => mode === "ask" && !capabilities.approvals && isShared(isolation)

/** Modes in which the agent runs in the workspace, most restrictive first. */
export const modesIn = (
  { isolation: usual, modes }: Pick<Workspace, "isolation" | "modes">,
  agent: Pick<Agent, "capabilities" | "modes">,
  isolation: CreateRun["isolation"] = usual
): ReadonlyArray<RunMode> =>
  modes.filter((mode) => agent.modes?.includes(mode) !== false && !needsIsolation(agent, mode, isolation))

/** Default mode: `ask`, or the most restrictive one. */
export const usualMode = (modes: ReadonlyArray<RunMode>): RunMode | undefined =>
  modes.includes("ask") ? "ask" : modes[0]
