/**
 * Built-in agents behind the Agent Client Protocol, one entry each.
 *
 * Recordings prove all entries except Goose's, which follows its documentation. `docs/adapters.md` lists the versions.
 */
import { capped } from "@corral/domain/text/CappedPattern"
import { readInstructions } from "../ClaudeCode.ts"
import { movedToBackground } from "../Gemini.ts"
import { openCodeContinuation, withoutTools } from "../OpenCode.ts"
import {
  claudeNetwork,
  codexNetwork,
  copilotNetwork,
  geminiNetwork,
  grokNetwork,
  kimiNetwork,
  openCodeNetwork,
  qwenNetwork
} from "../ModelHosts.ts"
import {
  claudeProject,
  codexAcpProject,
  copilotAcpProject,
  geminiAcpProject,
  gooseProject,
  grokProject,
  kimiProject,
  openCodeProject,
  qwenProject
} from "../ProjectFiles.ts"
import {
  claudeFolders,
  codexFolders,
  copilotFolders,
  geminiFolders,
  grokFolders,
  kimiFolders,
  openCodeFolders,
  qwenFolders
} from "../StateFolders.ts"
import { qwenContinuation, untrustedFolderSettings } from "../Qwen.ts"
import type { AcpAgent } from "./AcpAgent.ts"

const PROXY = ["HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy"]
/** Variables of model services, for agents that support any of them. */
const MODELS = [
  "ANTHROPIC_*",
  "OPENAI_*",
  "GEMINI_*",
  "GOOGLE_*",
  "AZURE_*",
  "OPENROUTER_*",
  "DEEPSEEK_*",
  "MISTRAL_*",
  "GROQ_*",
  "XAI_*",
  "OLLAMA_*"
]

/** Without sub-agents: over this protocol their permission requests are not sent, and the run would wait. */
const opencodeAsks = {
  "*": "ask",
  read: "allow",
  glob: "allow",
  grep: "allow",
  list: "allow",
  todowrite: "allow",
  todoread: "allow",
  task: "deny"
}
const opencodeReads = { ...opencodeAsks, "*": "deny" }
/** A write there still requests the permission to write. */
const opencodePermissions = (folder: string, isReadOnly: boolean): string =>
  JSON.stringify({
    ...(isReadOnly ? opencodeReads : opencodeAsks),
    external_directory: { "*": isReadOnly ? "deny" : "ask", [`${folder}/*`]: "allow" }
  })

/** Extension by which the agents of this family report background work, and sub-agents with their texts. */
const taskReports = {
  jetbrains: { air: { version: 1, capabilities: ["asyncTasks", "nativeSubagentSessions"] } }
}

export const acpAgents = {
  opencode: {
    id: "opencode-acp",
    label: "OpenCode (ACP)",
    command: "opencode",
    args: ["acp"],
    install: "Install OpenCode: npm install -g opencode-ai",
    signIn: "Run `opencode auth login`.",
    passEnv: ["OPENCODE_*", ...MODELS, ...PROXY],
    env: { OPENCODE_DISABLE_AUTOUPDATE: "1" },
    projectSettings: openCodeProject,
    folders: openCodeFolders,
    network: openCodeNetwork,
    withoutProject: { env: () => withoutTools },
    // Without this it never requests permissions. Its plan mode still runs commands, so the model is not offered them.
    envByMode: {
      ask: { OPENCODE_PERMISSION: JSON.stringify(opencodeAsks) },
      readOnly: { OPENCODE_PERMISSION: JSON.stringify(opencodeReads) }
    },
    withAttachments: {
      env: (folder, isReadOnly) => ({ OPENCODE_PERMISSION: opencodePermissions(folder, isReadOnly) })
    },
    modes: { ask: "build", readOnly: "plan" },
    toolName: "title",
    cancelsInWords: /^User aborted the command$/m,
    countsLastCall: true,
    reportsCost: true,
    continuation: openCodeContinuation,
    images: "native"
  },
  gemini: {
    id: "gemini-acp",
    label: "Gemini CLI (ACP)",
    command: "gemini",
    args: ["--acp"],
    install: "Install Gemini CLI: npm install -g @google/gemini-cli",
    signIn: "Run `gemini` and choose how to sign in, or set GEMINI_API_KEY for the Edge.",
    passEnv: ["GEMINI_*", "GOOGLE_*", ...PROXY],
    projectSettings: geminiAcpProject,
    folders: geminiFolders,
    network: geminiNetwork,
    trustArgs: ["--skip-trust"],
    withAttachments: { args: (folder) => ["--include-directories", folder] },
    // Over ACP it also works in an untrusted folder. The variable overrides the user's settings and the Edge's environment.
    withoutProject: { env: () => ({ GEMINI_CLI_TRUST_WORKSPACE: "false" }) },
    modes: { ask: "default", readOnly: "plan" },
    toolName: "callId",
    titleIsCommand: true,
    cancelsInWords: /^Command cancelled by user\./m,
    startsInBackground: movedToBackground,
    forgetsSessions: true,
    images: "native"
  },
  qwen: {
    id: "qwen-acp",
    label: "Qwen Code (ACP)",
    command: "qwen",
    // Permissions of its sub-agents do not reach this protocol: they are refused, and the sub-agent's work is lost.
    args: ["--acp", "--exclude-tools", "agent"],
    install: "Install Qwen Code: npm install -g @qwen-code/qwen-code",
    signIn: "Run `qwen` and choose how to sign in, or set OPENAI_API_KEY for the Edge.",
    passEnv: ["QWEN_*", "DASHSCOPE_*", "OPENAI_*", ...PROXY],
    projectSettings: qwenProject,
    folders: qwenFolders,
    network: qwenNetwork,
    withoutProject: { settingsFiles: untrustedFolderSettings },
    // In its default mode a classifier decides instead of a user.
    modes: { ask: "default", readOnly: "plan" },
    countsTokens: true,
    notes: ["is_background"],
    ownMethods: ["qwen/", "craft/"],
    startsInBackground: /^Background (?:agent launched[^\n]*\ntask_|shell started\.\n)id: (\S+)/,
    continuesAfterWork: true,
    // Its other option for once returns to a mode in which a classifier decides.
    planApproval: "proceed_once",
    continuation: qwenContinuation
  },
  copilot: {
    id: "copilot-acp",
    label: "GitHub Copilot CLI (ACP)",
    command: "copilot",
    args: ["--acp"],
    install: "Install GitHub Copilot CLI: npm install -g @github/copilot",
    signIn: "Run `copilot` and use /login, or set GH_TOKEN for the Edge.",
    passEnv: ["COPILOT_*", "GH_TOKEN", "GITHUB_TOKEN", "GH_HOST", ...PROXY],
    env: { COPILOT_AUTO_UPDATE: "false" },
    projectSettings: copilotAcpProject,
    folders: copilotFolders,
    network: copilotNetwork,
    modes: { ask: "#agent", readOnly: "#plan" },
    notes: ["commands"],
    asides: /^Info: /,
    retriesInWords: /\bRetrying\.{3}$/,
    countsSession: true,
    hasSubscription: true,
    failsInWords: capped(
      8_000,
      /^Error: (\d{3}\b|Failed to get response from the AI model; retried|Authentication failed with provider|[^]*\(HTTP \d{3}\))/
    ),
    failsInWordsWithoutTokens: /^Error: /,
    continuation: {
      store: "~/.copilot/session-state",
      model: "any",
      mode: "any",
      folder: "any"
    },
    images: "native"
  },
  kimi: {
    id: "kimi-acp",
    label: "Kimi Code (ACP)",
    command: "kimi",
    args: ["acp"],
    install: "Install Kimi Code, which needs Node 22 or later: npm install -g @moonshot-ai/kimi-code",
    signIn: "Run `kimi` and use /login.",
    passEnv: ["KIMI_*", "MOONSHOT_*", ...PROXY],
    projectSettings: kimiProject,
    folders: kimiFolders,
    network: kimiNetwork,
    modes: { ask: "default", readOnly: "plan" },
    modeUnknown: true,
    // It requests permission for commands, but writes files in a git repository without one.
    actsUnasked: true,
    inputInContent: true,
    toolName: "title",
    startsInBackground: /^task_id: ([^\s]{1,200})\n[^]{0,400}?^status: running$/m,
    plansJobs: /^id: ([^\s]{1,200})\ncron: /,
    followsGoals: true,
    failsSilently: true
  },
  claudeAgent: {
    id: "claude-agent-acp",
    label: "Claude Agent (ACP)",
    command: "claude-agent-acp",
    args: [],
    install: "Install the Claude agent for ACP: npm install -g @agentclientprotocol/claude-agent-acp",
    signIn: "Run `claude` and use /login, or set ANTHROPIC_API_KEY for the Edge.",
    passEnv: ["ANTHROPIC_*", "CLAUDE_*", ...PROXY],
    env: { DISABLE_AUTOUPDATER: "1" },
    projectSettings: claudeProject,
    folders: claudeFolders,
    network: claudeNetwork,
    withoutProject: {
      env: () => readInstructions,
      sessionMeta: ({ denyRules = [], workspacePath }) => ({
        claudeCode: {
          options: {
            settingSources: ["user"],
            additionalDirectories: [workspacePath],
            ...(denyRules.length === 0 ? {} : { settings: { permissions: { deny: denyRules } } })
          }
        }
      })
    },
    modes: { ask: "default", readOnly: "plan" },
    clientMeta: taskReports,
    countsModels: true,
    reportsTimersInWords: true,
    continuesAfterWork: true
  },
  codex: {
    id: "codex-acp",
    label: "Codex (ACP)",
    command: "codex-acp",
    args: [],
    env: {
      CODEX_CONFIG: JSON.stringify({
        // Its sub-agents and goals are not reported: a run would complete without their work. Its questions are off by default.
        features: { multi_agent: false, goals: false, default_mode_request_user_input: true },
        suppress_unstable_features_warning: true
      })
    },
    install: "Install Codex for ACP: npm install -g @agentclientprotocol/codex-acp",
    signIn: "Run `codex login`, or set OPENAI_API_KEY for the Edge.",
    passEnv: ["CODEX_*", "OPENAI_*", ...PROXY],
    projectSettings: codexAcpProject,
    folders: codexFolders,
    network: codexNetwork,
    // In its default mode a model reviews the requests. In this mode it requests permission before every edit and command.
    modes: { ask: "read-only", readOnly: "read-only" },
    asides: /^(Config warning|Warning): /,
    namesMessages: true,
    statusKey: "codex",
    clientMeta: taskReports,
    // For versions that do not report a status.
    failsInWords: capped(
      8_000,
      /^\s*\{\s*"error"\s*:\s*\{|^(Missing environment variable|exceeded retry limit|unexpected status|stream disconnected|We.re currently experiencing high demand)\b/
    )
  },
  grok: {
    id: "grok-acp",
    label: "Grok Build (ACP)",
    command: "grok",
    args: ["agent", "--no-leader", "stdio"],
    install: "Install Grok Build: npm install -g @xai-official/grok",
    signIn: "Run `grok` and sign in, or set XAI_API_KEY for the Edge.",
    passEnv: ["XAI_*", "GROK_*", ...PROXY],
    env: { GROK_DISABLE_AUTOUPDATER: "1" },
    projectSettings: grokProject,
    folders: grokFolders,
    network: grokNetwork,
    toolName: "title",
    // It requests permission before it writes, but runs commands that it takes for harmless without one.
    actsUnasked: true,
    ownMethods: ["_x.ai/"],
    ownUpdates: [
      "interaction_resolved",
      "last_turn_summary",
      "pending_interaction",
      "response_completed",
      "session_summary_generated",
      "tool_call_delta_chunk",
      "turn_completed"
    ]
  },
  goose: {
    id: "goose-acp",
    label: "Goose (ACP)",
    command: "goose",
    args: ["acp"],
    install: "Install the Goose command line, then run `goose configure`.",
    signIn: "Run `goose configure`.",
    passEnv: ["GOOSE_*", ...MODELS, ...PROXY],
    // Its default mode acts without permission requests, and its mode without tools cannot read files.
    env: { GOOSE_MODE: "approve" },
    projectSettings: gooseProject,
    modes: { ask: "approve" }
  }
} as const satisfies Readonly<Record<string, AcpAgent>>
