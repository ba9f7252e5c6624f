/**
 * Adapters for agents behind the Agent Client Protocol: one client for all of them, and what differs as data (`acp/AcpAgents`).
 *
 * Modes: an agent is put into the mode in which it asks, and the Edge allows what it allows; the agent's own ways past its questions know nothing
 * of the Edge's policy and would leave no record. `read_only` and `plan` put it into its own mode for that where it has one, and the Edge refuses
 * every permission besides.
 */
import type { RunMode } from "@corral/domain/run/Run"
import type { RuntimeAdapter } from "@corral/domain/run/RuntimeAdapter"
import type { AcpAgent } from "./acp/AcpAgent.ts"
import { AcpProtocol } from "./acp/AcpProtocol.ts"
import { defined } from "./text/Json.ts"

const isReadOnly = (mode: RunMode): boolean => mode === "read_only" || mode === "plan"

/** The adapter of an agent, found by its command on PATH. */
export const makeAcp = (agent: AcpAgent): RuntimeAdapter => {
  const {
    actsUnasked = false,
    args,
    command,
    env,
    envByMode,
    forgetsSessions = false,
    id,
    install,
    label,
    modes,
    passEnv,
    projectSettings,
    signIn,
    trustArgs = [],
    withoutProject
  } = agent
  return {
    specificationVersion: 1,
    id,
    label,
    capabilities: {
      deltas: true,
      approvals: !actsUnasked,
      editInput: false,
      resume: !forgetsSessions,
      readOnly: modes?.readOnly !== undefined,
      cancel: true,
      input: true
    },
    probe: { command, versionArgs: ["--version"], install, signIn },
    passEnv,
    ...defined({ projectSettings }),
    command: (start) => {
      const ignored = start.projectSettings !== "enabled"
      return {
        file: command,
        args: ignored ? args : [...args, ...trustArgs],
        env: {
          ...env,
          ...(isReadOnly(start.mode) ? envByMode?.readOnly : envByMode?.ask),
          ...(ignored ? withoutProject?.env?.(start) : {})
        },
        settingsFiles: ignored ? (withoutProject?.settingsFiles ?? []) : [],
        stdin: "pipe"
      }
    },
    protocol: (start) => new AcpProtocol(start, agent)
  }
}
