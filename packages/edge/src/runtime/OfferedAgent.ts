/**
 * An agent that runs can use: an adapter, a profile over an adapter, or a runner, in one shape.
 */
import type { AgentId } from "@corral/domain/identity/Ids"
import { needsIsolation } from "@corral/domain/offer/Offer"
import { type Run, RunMode } from "@corral/domain/run/Run"
import type { Capabilities, AnyRuntimeAdapter } from "@corral/domain/run/RuntimeAdapter"
import type { RuntimeNetwork } from "@corral/domain/run/RuntimeNetwork"
import type { ProfileGrant } from "./ConfigSchema.ts"

export interface OfferedAgent {
  readonly id: AgentId
  readonly label: string
  readonly adapter: AnyRuntimeAdapter
  /** The adapter that its profile names, if `adapter` replaced it. */
  readonly replaced?: string | undefined
  /** Name or absolute path of a program that replaces the adapter's. */
  readonly program?: string | undefined
  readonly widestMode?: RunMode | undefined
  /** Default for runs that name none. */
  readonly model?: string | undefined
  /** Names of the Edge's variables that its runs receive, with `*` at the end for a prefix: the adapter's and the profile's. */
  readonly passEnv: ReadonlyArray<string>
  readonly grants: ReadonlyArray<ProfileGrant>
}

/** Network of the agent's runs. What an adapter says about its own program is not true of another. */
export const networkOf = ({
  adapter: { network },
  program
}: Pick<OfferedAgent, "adapter" | "program">): RuntimeNetwork | undefined =>
  network === undefined || program === undefined ? network : { ...network, isNodeClient: undefined }

/** Modes from the narrowest to the widest. */
const byWidth: ReadonlyArray<RunMode> = RunMode.literals

/** A runtime without approvals runs only with full access, in its own read-only mode, or where the kernel confines its runs. */
const enforceable = ({ approvals, readOnly }: Capabilities, mode: RunMode, isConfining: boolean): boolean =>
  approvals ||
  isConfining ||
  mode === "full_access" ||
  (readOnly && (mode === "read_only" || mode === "plan"))

/**
 * Modes that the agent supports, before the workspace's limits: up to its widest mode, and only modes that are enforced. `isConfining`: whether
 * the kernel confines the runs of this Edge.
 */
export const agentModes = (
  { adapter, widestMode = "full_access" }: OfferedAgent,
  isConfining = false
): ReadonlyArray<RunMode> =>
  byWidth
    .slice(0, byWidth.indexOf(widestMode) + 1)
    .filter((mode) => enforceable(adapter.capabilities, mode, isConfining))

/** Reason why the agent does not run in a mode, as a sentence; `undefined` if it does. */
export const modeRefusal = (agent: OfferedAgent, mode: RunMode, isConfining = false): string | undefined => {
  const modes = agentModes(agent, isConfining)
  if (modes.includes(mode)) return undefined
  const only = modes.length === 0 ? "in no mode" : `only in ${modes.join(", ")}`
  return enforceable(agent.adapter.capabilities, mode, isConfining)
    ? `${agent.label} runs ${only}.`
    : `${agent.label} does not ask for approval before it acts, so it runs ${only}.`
}

/** Reason why a run in `ask` needs an isolation: no user is asked before the agent changes something, so it changes a copy. */
export const isolationRefusal = (
  { adapter, label }: OfferedAgent,
  mode: RunMode,
  isolation: Run["isolation"]
): string | undefined =>
  needsIsolation(adapter, mode, isolation)
    ? `${label} does not ask for approval before it acts, so in ask it runs only in a worktree or a layer.`
    : undefined

/** Offer of an adapter without a profile. */
export const fromAdapter = (adapter: AnyRuntimeAdapter): OfferedAgent => ({
  id: adapter.id as AgentId, // the ids of adapters are agent ids
  label: adapter.label,
  adapter,
  passEnv: adapter.passEnv ?? [],
  grants: []
})
