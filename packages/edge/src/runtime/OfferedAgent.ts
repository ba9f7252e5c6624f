/**
 * An agent that runs can use: an adapter, a profile over an adapter, or a runner, in one shape.
 */
import type { AgentId } from "@corral/domain/identity/Ids"
import { RunMode } from "@corral/domain/run/Run"
import type { Capabilities, AnyRuntimeAdapter } from "@corral/domain/run/RuntimeAdapter"
import type { ProfileGrant } from "./ConfigSchema.ts"

export interface OfferedAgent {
  readonly id: AgentId
  readonly label: string
  readonly adapter: AnyRuntimeAdapter
  /** Name or absolute path of a program that replaces the adapter's. */
  readonly program?: string | undefined
  readonly widestMode?: RunMode | undefined
  /** Default for runs that name none. */
  readonly model?: string | undefined
  /** Names of the Edge's variables that its runs receive, with `*` at the end for a prefix: the adapter's and the profile's. */
  readonly passEnv: ReadonlyArray<string>
  readonly grants: ReadonlyArray<ProfileGrant>
}

/** Modes from the narrowest to the widest. */
const byWidth: ReadonlyArray<RunMode> = RunMode.literals

/** A runtime without approvals runs only with full access, or in its own read-only mode. */
const enforceable = ({ approvals, readOnly }: Capabilities, mode: RunMode): boolean =>
  approvals || mode === "full_access" || (readOnly && (mode === "read_only" || mode === "plan"))

/** Modes that the agent supports, before the workspace's limits: up to its widest mode, and only modes that it enforces. */
export const agentModes = ({ adapter, widestMode = "full_access" }: OfferedAgent): ReadonlyArray<RunMode> =>
  byWidth.slice(0, byWidth.indexOf(widestMode) + 1).filter((mode) => enforceable(adapter.capabilities, mode))

/** Reason why the agent does not run in a mode, as a sentence; `undefined` if it does. */
export const modeRefusal = (agent: OfferedAgent, mode: RunMode): string | undefined => {
  const modes = agentModes(agent)
  if (modes.includes(mode)) return undefined
  const only = modes.length === 0 ? "in no mode" : `only in ${modes.join(", ")}`
  return enforceable(agent.adapter.capabilities, mode)
    ? `${agent.label} runs ${only}.`
    : `${agent.label} does not ask for approval before it acts, so it runs ${only}.`
}

/** Offer of an adapter without a profile. */
export const fromAdapter = (adapter: AnyRuntimeAdapter): OfferedAgent => ({
  id: adapter.id as AgentId, // the ids of adapters are agent ids
  label: adapter.label,
  adapter,
  passEnv: adapter.passEnv ?? [],
  grants: []
})
