/**
 * OpenCode as a server of one run (`opencode/OpenCodeProtocol`), behind a bridge that starts it on loopback with a random password.
 *
 * Modes: OpenCode requests permissions for everything but reading, and the Edge's policy decides. In `read_only` and `plan` the model is
 * not offered other tools. Sub-agents have the same permissions.
 */
import type { Continuation } from "@corral/domain/run/Continuation"
import type { RunMode } from "@corral/domain/run/Run"
import type { RuntimeAdapter } from "@corral/domain/run/RuntimeAdapter"
import { dirname } from "node:path"
import { modelServices, openCodeNetwork, proxies } from "./ModelHosts.ts"
import type { ProgramInfo } from "./one-shot/OneShot.ts"
import { OpenCodeProtocol } from "./opencode/OpenCodeProtocol.ts"
import { openCodeProject } from "./ProjectFiles.ts"
import { openCodeFolders } from "./StateFolders.ts"

const signIn = "Run `opencode auth login` on this machine, or set the key of your model service for the Edge."
const program: ProgramInfo = { label: "OpenCode", signIn }

/**
 * Configuration without formatters and language servers, which OpenCode finds in the project's `node_modules`. Other project settings cannot
 * be disabled, so the Edge does not start OpenCode in a project that has some.
 */
export const withoutTools = {
  OPENCODE_CONFIG_CONTENT: JSON.stringify({ formatter: false, lsp: false })
}

/** Conversations are in one database, for both ways to drive OpenCode. */
export const openCodeContinuation: Continuation = {
  store: "~/.local/share/opencode",
  model: "any",
  mode: "any",
  folder: "any"
}

/** Tools that change nothing outside the conversation. A sub-agent asks for what it does itself. */
const allowed = Object.fromEntries(
  ["read", "glob", "grep", "list", "todoread", "todowrite", "question", "task"].map((name) => [name, "allow"])
)

const isReadOnly = (mode: RunMode): boolean => mode === "read_only" || mode === "plan"

/** Permissions of a run. Files of the conversation outside the workspace can be read. */
const permissionsOf = (mode: RunMode, attachmentFolder: string | undefined): string => {
  const others = isReadOnly(mode) ? "deny" : "ask"
  const outside =
    attachmentFolder === undefined
      ? {}
      : { external_directory: { "*": others, [`${attachmentFolder}/*`]: "allow" } }
  return JSON.stringify({ "*": others, ...allowed, ...outside })
}

export interface OpenCodeOptions {
  /** Absolute path of a Node executable. */
  readonly node: string
  /** Absolute path of `runtime/opencode-bridge.mjs`. */
  readonly bridge: string
}

/** OpenCode, found as `opencode` on PATH. */
export const makeOpenCode = ({ bridge, node }: OpenCodeOptions): RuntimeAdapter => ({
  specificationVersion: 2,
  id: "opencode",
  label: program.label,
  capabilities: {
    deltas: true,
    approvals: true,
    editInput: false,
    resume: true,
    readOnly: true,
    cancel: true,
    input: true
  },
  counts: ["tokens", "turns", "cost"],
  reportsCost: true,
  continuation: openCodeContinuation,
  images: "native",
  probe: {
    command: "opencode",
    versionArgs: ["--version"],
    install: "Install OpenCode: npm install -g opencode-ai",
    signIn
  },
  passEnv: ["OPENCODE_*", ...modelServices, ...proxies],
  projectSettings: openCodeProject,
  folders: { ...openCodeFolders, reads: [dirname(bridge)] },
  network: openCodeNetwork,
  command: ({ attachmentFolder, mode, projectSettings }) => ({
    bridge: [node, bridge],
    file: "opencode",
    args: [],
    env: {
      OPENCODE_DISABLE_AUTOUPDATE: "1",
      OPENCODE_PERMISSION: permissionsOf(mode, attachmentFolder),
      ...(projectSettings === "enabled" ? {} : withoutTools)
    },
    stdin: "pipe"
  }),
  protocol: (start) => new OpenCodeProtocol(program, start, isReadOnly(start.mode) ? "plan" : "build")
})
