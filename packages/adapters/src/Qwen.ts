/**
 * Qwen Code over its duplex stream of JSON lines (`qwen/QwenProtocol`): it requests permissions.
 *
 * Modes: `read_only` and `plan` use its own plan mode, which has no writing tools and no shell. In every other mode it requests permissions,
 * and the Edge's policy decides. The runtime's own permissive modes would bypass the policy and leave no record.
 */
import type { Continuation } from "@corral/domain/run/Continuation"
import type { RuntimeAdapter, SettingsFile } from "@corral/domain/run/RuntimeAdapter"
import { modelServices, proxies, qwenNetwork } from "./ModelHosts.ts"
import type { ProgramInfo } from "./one-shot/OneShot.ts"
import { qwenProject } from "./ProjectFiles.ts"
import { qwenFolders } from "./StateFolders.ts"
import { QwenProtocol } from "./qwen/QwenProtocol.ts"

const signIn = "Run `qwen` on this machine and use /auth, or set OPENAI_API_KEY for the Edge."
const program: ProgramInfo = { label: "Qwen Code", signIn }

const duplex = "--input-format stream-json --output-format stream-json --include-partial-messages".split(" ")

/** Settings that distrust every folder. Qwen Code then reads no settings, environment, hooks or servers of it, and keeps its modes. */
export const untrustedFolderSettings: ReadonlyArray<SettingsFile> = [
  {
    env: "QWEN_CODE_SYSTEM_SETTINGS_PATH",
    name: "qwen-settings.json",
    content: JSON.stringify({ security: { folderTrust: { enabled: true } } })
  },
  {
    env: "QWEN_CODE_TRUSTED_FOLDERS_PATH",
    name: "qwen-trusted-folders.json",
    content: JSON.stringify({ "/": "DO_NOT_TRUST" })
  }
]

/** Both ways to drive Qwen Code share the conversations. */
export const qwenContinuation: Continuation = {
  store: "~/.qwen/projects",
  model: "any",
  mode: "any",
  folder: "same"
}

/** Qwen Code, found as `qwen` on PATH. */
export const qwen: RuntimeAdapter = {
  specificationVersion: 2,
  id: "qwen",
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
  counts: ["tokens", "cost"],
  continuation: qwenContinuation,
  images: "native",
  probe: {
    command: "qwen",
    versionArgs: ["--version"],
    install: "Install Qwen Code: npm install -g @qwen-code/qwen-code",
    signIn
  },
  passEnv: ["QWEN_*", "DASHSCOPE_*", "OPENAI_MODEL", ...modelServices, ...proxies],
  projectSettings: qwenProject,
  folders: qwenFolders,
  network: qwenNetwork,
  command: ({ mode, model, projectSettings, resumeSessionId }) => ({
    file: "qwen",
    args: [
      ...duplex,
      "--approval-mode",
      mode === "read_only" || mode === "plan" ? "plan" : "default",
      ...(model === undefined ? [] : ["--model", model]),
      ...(resumeSessionId === undefined ? [] : ["--resume", resumeSessionId])
    ],
    settingsFiles: projectSettings === "enabled" ? [] : untrustedFolderSettings,
    stdin: "pipe"
  }),
  protocol: (start) => new QwenProtocol(program, start)
}
