/** Status of an agent and of a runner for `corral doctor`. Combines the Edge's list with its health. */
import type { Agent, Runner } from "@corral/domain/run/Agent"
import type { RuntimeReadiness } from "@corral/domain/http/Health"

/** An adapter, or a profile if `runtime` is another id. */
export type AgentStatus = Pick<
  Agent,
  "id" | "label" | "runtime" | "available" | "version" | "signedIn" | "modes" | "reason" | "hint"
> &
  Pick<RuntimeReadiness, "path" | "drift">

export type RunnerStatus = Pick<Runner, "id" | "label" | "command" | "available" | "reason" | "hint">

/** Combines an agent of `/v1/agents` with its runtime health. */
export const agentStatus = (agent: Agent, readiness: ReadonlyArray<RuntimeReadiness>): AgentStatus => {
  const { id, label, runtime, available, version, signedIn, modes, reason, hint } = agent
  const { path, drift } = readiness.find((runtime) => runtime.id === id) ?? {}
  return {
    id,
    label,
    runtime,
    available,
    ...(path === undefined ? {} : { path }),
    ...(version === undefined ? {} : { version }),
    ...(signedIn === undefined ? {} : { signedIn }),
    ...(modes === undefined ? {} : { modes }),
    ...(reason === undefined ? {} : { reason }),
    ...(hint === undefined ? {} : { hint }),
    ...(drift === undefined ? {} : { drift })
  }
}

export const runnerStatus = ({ id, label, command, available, reason, hint }: Runner): RunnerStatus => ({
  id,
  label,
  command,
  available,
  ...(reason === undefined ? {} : { reason }),
  ...(hint === undefined ? {} : { hint })
})
