/**
 * Claude Code over its duplex stream of JSON lines (`claude-code/ClaudeCodeProtocol`).
 *
 * Modes: the runtime requests permissions in every mode, also in `auto_edit` and `full_access`, and the Edge's policy decides. The
 * runtime's own permissive modes would bypass the policy and leave no record.
 *
 * Project settings: only the user's settings apply, so no hook, server, helper, plugin or permission of the project does. The workspace as
 * an additional folder makes its instruction files available, and nothing else.
 */
import type { RunMode } from "@corral/domain/run/Run"
import type { RunStart, RuntimeAdapter } from "@corral/domain/run/RuntimeAdapter"
import { parseObject } from "./text/Json.ts"
import { claudeNetwork, proxies } from "./ModelHosts.ts"
import { claudeProject } from "./ProjectFiles.ts"
import { claudeFolders } from "./StateFolders.ts"
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

/** Tools of a run that only reads: it may ask, and hand over a plan. */
const readers = "Read,Grep,Glob,AskUserQuestion,ExitPlanMode"

/**
 * A program that updates itself during a run is not the probed one. The state of the session says whether the program continues by itself after a
 * turn.
 */
const environment = { DISABLE_AUTOUPDATER: "1", CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS: "1" }

/** Variable that makes Claude Code read `CLAUDE.md` of additional folders. */
export const readInstructions = { CLAUDE_CODE_ADDITIONAL_DIRECTORIES_CLAUDE_MD: "1" }

const withoutProject = ({ denyRules = [], workspacePath }: RunStart): ReadonlyArray<string> => [
  "--setting-sources",
  "user",
  "--add-dir",
  workspacePath,
  ...(denyRules.length === 0 ? [] : ["--settings", JSON.stringify({ permissions: { deny: denyRules } })])
]

/** Claude Code, found as `claude` on PATH. */
export const claudeCode: RuntimeAdapter = {
  specificationVersion: 2,
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
  counts: ["tokens", "turns", "cost"],
  continuation: { store: "~/.claude/projects", model: "any", mode: "any", folder: "any" },
  images: "native",
  probe: {
    command: "claude",
    versionArgs: ["--version"],
    signedIn: {
      // Without `--json` an old version would read the words as a prompt.
      args: ["auth", "status", "--json"],
      read: ({ stdout }) => {
        const { loggedIn } = parseObject(stdout.trim()) ?? {}
        return typeof loggedIn === "boolean" ? loggedIn : undefined
      }
    },
    install: "Install Claude Code: npm install -g @anthropic-ai/claude-code",
    signIn: "Run `claude` and use /login, or set ANTHROPIC_API_KEY for the Edge."
  },
  passEnv: ["ANTHROPIC_*", "CLAUDE_*", ...proxies],
  projectSettings: claudeProject,
  folders: claudeFolders,
  network: claudeNetwork,
  command: (start) => {
    const { mode, model, projectSettings, resumeSessionId } = start
    const isIgnored = projectSettings !== "enabled"
    return {
      file: "claude",
      args: [
        ...duplex,
        "--permission-mode",
        permissionMode[mode],
        ...(model === undefined ? [] : ["--model", model]),
        ...(resumeSessionId === undefined ? [] : ["--resume", resumeSessionId]),
        ...(isIgnored ? withoutProject(start) : []),
        // Last, because this flag reads every following argument.
        ...(mode === "read_only" ? ["--tools", readers] : [])
      ],
      env: { ...environment, ...(isIgnored ? readInstructions : {}) },
      stdin: "pipe"
    }
  },
  protocol: (start) => new ClaudeCodeProtocol(start)
}
