/**
 * Adapters for agents behind the Agent Client Protocol: one client for all, with their differences as data (`acp/AcpAgents`).
 *
 * Modes: the agent is set to the mode that requests permissions, and the Edge's policy decides. The agent's own permissive modes would bypass
 * the policy and leave no record. In `read_only` and `plan` the agent is set to its read-only mode if it has one, and the Edge denies every
 * request.
 */
import type { RuntimeAdapter } from "@corral/domain/run/RuntimeAdapter"
import type { AcpAgent } from "./acp/AcpAgent.ts"
import { AcpProtocol } from "./acp/AcpProtocol.ts"
import { isReadOnlyMode } from "./acp/SessionOpening.ts"
import { defined } from "./text/Json.ts"

/** Adapter of an agent. The Edge finds `agent.command` on PATH. */
export const makeAcp = (agent: AcpAgent): RuntimeAdapter => {
  const {
    actsUnasked = false,
    args,
    command,
    continuation,
    countsTokens = false,
    env,
    envByMode,
    folders,
    forgetsSessions = false,
    id,
    images,
    install,
    label,
    modes,
    network,
    passEnv,
    projectSettings,
    reportsCost,
    signIn,
    trustArgs = [],
    withAttachments,
    withoutProject
  } = agent
  return {
    specificationVersion: 2,
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
    counts: countsTokens ? ["tokens", "cost"] : [],
    ...defined({ reportsCost }),
    probe: { command, versionArgs: ["--version"], install, signIn },
    passEnv,
    ...defined({ continuation, folders, images, network, projectSettings }),
    command: (start) => {
      const { attachmentFolder: folder, mode, projectSettings } = start
      const ignored = projectSettings !== "enabled"
      return {
        file: command,
        args: [
          ...args,
          ...(ignored ? [] : trustArgs),
          ...(folder === undefined ? [] : (withAttachments?.args?.(folder) ?? []))
        ],
        env: {
          ...env,
          ...(isReadOnlyMode(mode) ? envByMode?.readOnly : envByMode?.ask),
          ...(folder === undefined ? {} : withAttachments?.env?.(folder, isReadOnlyMode(mode))),
          ...(ignored ? withoutProject?.env?.(start) : {})
        },
        settingsFiles: ignored ? (withoutProject?.settingsFiles ?? []) : [],
        stdin: "pipe"
      }
    },
    protocol: (start) => new AcpProtocol(start, agent)
  }
}
