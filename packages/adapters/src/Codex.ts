/**
 * Codex over its app-server (`codex/AppServer`): it requests permissions, streams, and can be interrupted.
 */
import type { Continuation } from "@corral/domain/run/Continuation"
import type { Probe, RunStart, RuntimeAdapter } from "@corral/domain/run/RuntimeAdapter"
import { codexNetwork } from "./ModelHosts.ts"
import { codexProject } from "./ProjectFiles.ts"
import { codexFolders } from "./StateFolders.ts"
import { AppServerProtocol } from "./codex/AppServer.ts"
import { codexEnvironment } from "./codex/CodexFailure.ts"

const codexProbe: Probe = {
  command: "codex",
  versionArgs: ["--version"],
  signedIn: {
    args: ["login", "status"],
    // An older version may not support the command: then the sign-in is unknown.
    read: ({ code, stderr, stdout }) => {
      if (code === 0) return true
      return /not logged in/i.test(stdout + stderr) ? false : undefined
    }
  },
  install: "Install Codex: npm install -g @openai/codex",
  signIn: "Run `codex login`. A model provider with its own key, set in config.toml, needs no login."
}

/** Both ways to drive Codex share the conversations. */
const codexContinuation: Continuation = {
  store: "~/.codex/sessions",
  model: "any",
  mode: "any",
  folder: "any"
}

/**
 * Flag before the subcommand that sets the trust of the workspace. Codex reads no configuration of an untrusted project, and by default
 * trusts a writable folder. A quoted key of TOML supports the escapes of `JSON.stringify`.
 */
const trustFlags = ({ projectSettings, workspacePath }: RunStart): ReadonlyArray<string> => {
  const level = projectSettings === "enabled" ? "trusted" : "untrusted"
  return ["-c", `projects={${JSON.stringify(workspacePath)}={trust_level="${level}"}}`]
}

/**
 * Flags that let the agent ask in every mode: without them its tool exists and fails. The feature is experimental, and Codex would warn of it in
 * each run.
 */
const questionFlags = [
  "-c",
  "features.default_mode_request_user_input=true",
  "-c",
  "suppress_unstable_features_warning=true"
]

/** Codex, found as `codex` on PATH. */
export const codex: RuntimeAdapter = {
  specificationVersion: 2,
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
  counts: ["tokens", "turns", "cost"],
  continuation: codexContinuation,
  images: "native",
  probe: codexProbe,
  passEnv: codexEnvironment,
  projectSettings: codexProject,
  folders: codexFolders,
  network: codexNetwork,
  command: (start) => ({
    file: "codex",
    args: [...trustFlags(start), ...questionFlags, "app-server"],
    stdin: "pipe"
  }),
  protocol: (start) => new AppServerProtocol(start)
}
