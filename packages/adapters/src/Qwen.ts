/**
 * Qwen Code, over its duplex stream of JSON lines (`qwen/QwenProtocol`), so it asks.
 *
 * Modes: `read_only` and `plan` are its own plan mode, which offers neither writing nor a shell. Every other one asks, and the Edge allows what
 * it allows: the runtime's own ways past its questions know nothing of the Edge's policy and would leave no record.
 */
import type { RuntimeAdapter, SettingsFile } from "@corral/domain/run/RuntimeAdapter"
import { modelServices, proxies } from "./one-shot/Environment.ts"
import type { ProgramInfo } from "./one-shot/Failure.ts"
import { qwenProject } from "./ProjectFiles.ts"
import { QwenProtocol } from "./qwen/QwenProtocol.ts"

const signIn = "Run `qwen` on this machine and use /auth, or set OPENAI_API_KEY for the Edge."
const words: ProgramInfo = { label: "Qwen Code", signIn }

const duplex = "--input-format stream-json --output-format stream-json --include-partial-messages".split(" ")

/** Qwen Code reads no settings, environment, hooks or servers of a folder that is not trusted. Its modes that ask and plan remain. */
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

/** Qwen Code, found as `qwen` on PATH. */
export const qwen: RuntimeAdapter = {
  specificationVersion: 1,
  id: "qwen",
  label: words.label,
  capabilities: {
    deltas: true,
    approvals: true,
    editInput: false,
    resume: true,
    readOnly: true,
    cancel: true,
    input: false
  },
  probe: {
    command: "qwen",
    versionArgs: ["--version"],
    install: "Install Qwen Code: npm install -g @qwen-code/qwen-code",
    signIn
  },
  passEnv: ["QWEN_*", "DASHSCOPE_*", "OPENAI_MODEL", ...modelServices, ...proxies],
  projectSettings: qwenProject,
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
  protocol: (start) => new QwenProtocol(words, start)
}
