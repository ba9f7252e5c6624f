/**
 * Codex: how it is found and started. It is driven over its app-server (`codex/AppServer`): it asks, streams, and can be interrupted.
 */
import type { Probe, RunStart, RuntimeAdapter } from "@corral/domain/run/RuntimeAdapter"
import { codexProject } from "./ProjectFiles.ts"
import { AppServerProtocol } from "./codex/AppServer.ts"
import { codexEnvironment } from "./codex/Environment.ts"

export const codexProbe: Probe = {
  command: "codex",
  versionArgs: ["--version"],
  signedIn: {
    args: ["login", "status"],
    // An older version may not know the call: then it says neither.
    read: ({ code, stderr, stdout }) => {
      if (code === 0) return true
      return /not logged in/i.test(stdout + stderr) ? false : undefined
    }
  },
  install: "Install Codex: npm install -g @openai/codex",
  signIn: "Run `codex login`. A model provider with its own key, set in config.toml, needs no login."
}

/**
 * A flag before the subcommand: Codex reads no configuration of a project that is not trusted, and else would trust a folder it may write
 * to by itself. A quoted key of TOML takes the escapes that `JSON.stringify` writes.
 */
export const trustFlags = ({ projectSettings, workspacePath }: RunStart): ReadonlyArray<string> => {
  const level = projectSettings === "enabled" ? "trusted" : "untrusted"
  return ["-c", `projects={${JSON.stringify(workspacePath)}={trust_level="${level}"}}`]
}

/** Codex, found as `codex` on PATH. */
export const codex: RuntimeAdapter = {
  specificationVersion: 1,
  id: "codex",
  label: "Codex",
  capabilities: {
    deltas: true,
    approvals: true,
    editInput: false,
    resume: true,
    readOnly: true,
    cancel: true,
    input: true
  },
  probe: codexProbe,
  passEnv: codexEnvironment,
  projectSettings: codexProject,
  command: (start) => ({ file: "codex", args: [...trustFlags(start), "app-server"], stdin: "pipe" }),
  protocol: (start) => new AppServerProtocol(start)
}
