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

/**
 * Adapters that Corral no longer has, each with the adapter that runs the same program and continues its conversations. For ever: agents of
 * sessions, settings, grants and old runs name them.
 */
export const replacedAdapters: ReadonlyMap<string, string> = new Map([["codex-exec", "codex"]])

/** The id that an agent has now. */
export const currentAgentId = <Id extends string>(id: Id): Id =>
  // Both are ids of adapters.
  (replacedAdapters.get(id) ?? id) as Id

/** All ids that name the agent: the one that it has now, then those of the adapters that it replaced. */
export const idsOfAgent = <Id extends string>(id: Id): readonly [Id, ...ReadonlyArray<Id>] => {
  const current = currentAgentId(id)
  const earlier = [...replacedAdapters].flatMap(([replaced, by]) => (by === current ? [replaced as Id] : []))
  return [current, ...earlier]
}

export const namesSameAgent = (a: string, b: string): boolean => currentAgentId(a) === currentAgentId(b)

/** The offered agent with an id. An Edge of an earlier version still offers an adapter that later ones have replaced. */
export const findAgent = <A extends { readonly id: string }>(
  agents: ReadonlyArray<A> | undefined,
  id: string | undefined
): A | undefined =>
  id === undefined
    ? undefined
    : (agents?.find((agent) => agent.id === id) ?? agents?.find((agent) => agent.id === currentAgentId(id)))
