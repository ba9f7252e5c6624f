/**
 * Built-in adapters, one line each. Operators can add profiles and adapters of their own.
 */
import type { RuntimeAdapter } from "@corral/domain/run/RuntimeAdapter"
import { makeAcp } from "./Acp.ts"
import { acpAgents } from "./acp/AcpAgents.ts"
import { claudeCode } from "./ClaudeCode.ts"
import { codex } from "./Codex.ts"
import { copilot } from "./Copilot.ts"
import { gemini } from "./Gemini.ts"
import { makeOpenCode } from "./OpenCode.ts"
import { openCodeBridge } from "./openCodeBridge.ts"
import { pi } from "./Pi.ts"
import { qwen } from "./Qwen.ts"
import { makeScripted } from "./Scripted.ts"

export interface BuiltInOptions {
  /** Absolute path of the Node executable for our own programs. */
  readonly node: string
  /** Absolute path of `runtime/scripted.mjs`. */
  readonly scriptedProgram: string
}

/** Built-in adapters by id, in the order in which clients show them. */
export const builtIn = ({ node, scriptedProgram }: BuiltInOptions): ReadonlyMap<string, RuntimeAdapter> => {
  const adapters = [
    claudeCode,
    codex,
    qwen,
    gemini,
    copilot,
    makeOpenCode({ node, bridge: openCodeBridge }),
    pi,
    makeScripted({ node, program: scriptedProgram }),
    ...Object.values(acpAgents).map(makeAcp)
  ]
  return new Map(adapters.map((adapter) => [adapter.id, adapter]))
}
