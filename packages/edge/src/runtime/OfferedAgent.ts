/**
 * What a run can be started with: an adapter as it is, a profile over one, or a runner. One shape for all three.
 */
import type { AgentId } from "@corral/domain/identity/Ids"
import { RunMode } from "@corral/domain/run/Run"
import type { Capabilities, AnyRuntimeAdapter } from "@corral/domain/run/RuntimeAdapter"
import type { ProfileGrant } from "./ConfigSchema.ts"

export interface OfferedAgent {
  readonly id: AgentId
  readonly label: string
  readonly adapter: AnyRuntimeAdapter
  /** Name or absolute path of a program that runs instead of the adapter's own. */
  readonly program?: string | undefined
  readonly widestMode?: RunMode | undefined
  /** Of a run that names none. */
  readonly model?: string | undefined
  /** Names of the Edge's own environment that its runs see, `*` at the end for a prefix: the adapter's and the profile's. */
  readonly passEnv: ReadonlyArray<string>
  readonly grants: ReadonlyArray<ProfileGrant>
}

/** From the narrowest to the widest. */
const byWidth: ReadonlyArray<RunMode> = RunMode.literals

/** A runtime without approvals can only run with full access, or in its own read-only mode. */
const enforceable = ({ approvals, readOnly }: Capabilities, mode: RunMode): boolean =>
  approvals || mode === "full_access" || (readOnly && (mode === "read_only" || mode === "plan"))

/** The modes that it may run in, whatever a workspace allows besides: none wider than its widest, none that it cannot be held to. */
export const agentModes = ({ adapter, widestMode = "full_access" }: OfferedAgent): ReadonlyArray<RunMode> =>
  byWidth.slice(0, byWidth.indexOf(widestMode) + 1).filter((mode) => enforceable(adapter.capabilities, mode))

/** Why it does not run in that mode, in a sentence; `undefined` where it does. */
export const modeRefusal = (agent: OfferedAgent, mode: RunMode): string | undefined => {
  const modes = agentModes(agent)
  if (modes.includes(mode)) return undefined
  const only = modes.length === 0 ? "in no mode" : `only in ${modes.join(", ")}`
  return enforceable(agent.adapter.capabilities, mode)
    ? `${agent.label} runs ${only}.`
    : `${agent.label} does not ask for approval before it acts, so it runs ${only}.`
}

/** An adapter as it is. */
export const fromAdapter = (adapter: AnyRuntimeAdapter): OfferedAgent => ({
  id: adapter.id as AgentId, // the ids of adapters are agent ids
  label: adapter.label,
  adapter,
  passEnv: adapter.passEnv ?? [],
  grants: []
})
