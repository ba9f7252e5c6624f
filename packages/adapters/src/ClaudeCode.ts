/**
 * Claude Code: how it is found and started. It is driven over its duplex stream of JSON lines (`claude-code/ClaudeCodeProtocol`).
 *
 * Modes: the runtime only asks in plan mode and says yes to a host that says yes; refusing is the Edge's policy. `auto_edit` and
 * `full_access` ask too, and the Edge allows what it allows: the runtime's own ways past its questions know nothing of the Edge's policy
 * and would leave no record.
 *
 * Project settings: only the person's own settings are a source, so no hook, server, helper, plugin or permission of the project counts. The
 * workspace as an additional folder brings back its instruction files, and nothing else of it.
 */
import type { RunMode } from "@corral/domain/run/Run"
import type { RunStart, RuntimeAdapter } from "@corral/domain/run/RuntimeAdapter"
import { parseObject } from "./text/Json.ts"
import { claudeProject } from "./ProjectFiles.ts"
import { ClaudeCodeProtocol } from "./claude-code/ClaudeCodeProtocol.ts"

const permissionMode: Readonly<Record<RunMode, string>> = {
  read_only: "plan",
  plan: "plan",
  ask: "default",
  auto_edit: "default",
  full_access: "default"
}

const duplex =
  "-p --input-format stream-json --output-format stream-json --verbose --include-partial-messages --permission-prompt-tool stdio".split(
    " "
  )

/** Reads `CLAUDE.md` of additional folders. */
export const readsInstructions = { CLAUDE_CODE_ADDITIONAL_DIRECTORIES_CLAUDE_MD: "1" }

const withoutProject = ({ denyRules = [], workspacePath }: RunStart): ReadonlyArray<string> => [
  "--setting-sources",
  "user",
  "--add-dir",
  workspacePath,
  ...(denyRules.length === 0 ? [] : ["--settings", JSON.stringify({ permissions: { deny: denyRules } })])
]

/** Claude Code, found as `claude` on PATH. */
export const claudeCode: RuntimeAdapter = {
  specificationVersion: 1,
  id: "claude-code",
  label: "Claude Code",
  capabilities: {
    deltas: true,
    approvals: true,
    editInput: true,
    resume: true,
    readOnly: true,
    cancel: true,
    input: true
  },
  probe: {
    command: "claude",
    versionArgs: ["--version"],
    signedIn: {
      // Without `--json` an old version would take the words for a prompt.
      args: ["auth", "status", "--json"],
      read: ({ stdout }) => {
        const { loggedIn } = parseObject(stdout.trim()) ?? {}
        return typeof loggedIn === "boolean" ? loggedIn : undefined
      }
    },
    install: "Install Claude Code: npm install -g @anthropic-ai/claude-code",
    signIn: "Run `claude` and use /login, or set ANTHROPIC_API_KEY for the Edge."
  },
  passEnv: [
    "ANTHROPIC_*",
    "CLAUDE_*",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "no_proxy"
  ],
  projectSettings: claudeProject,
  command: (start) => {
    const { mode, model, projectSettings, resumeSessionId } = start
    const ignored = projectSettings !== "enabled"
    return {
      file: "claude",
      args: [
        ...duplex,
        "--permission-mode",
        permissionMode[mode],
        ...(model === undefined ? [] : ["--model", model]),
        ...(resumeSessionId === undefined ? [] : ["--resume", resumeSessionId]),
        ...(ignored ? withoutProject(start) : []),
        // Last: this flag takes every word after it.
        ...(mode === "read_only" ? ["--tools", "Read,Grep,Glob"] : [])
      ],
      // A program that replaces itself under a run is not the one that was probed.
      env: { DISABLE_AUTOUPDATER: "1", ...(ignored ? readsInstructions : {}) },
      stdin: "pipe"
    }
  },
  protocol: (start) => new ClaudeCodeProtocol(start)
}
