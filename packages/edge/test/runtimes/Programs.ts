/**
 * The real programs: their versions, and how each is configured to use its model.
 */
import { parseObject } from "@corral/adapters/text/Json"
import type { RegistryProgram } from "@corral/testing/process/RegistryProgram"
import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { SERVER } from "./InputTools.ts"

/** What a program is given: a home to write its settings to, the fake model's address, a key. */
export interface Place {
  readonly home: string
  readonly models: string
  readonly key: string
}

/** An adapter that drives a program, and where that program differs from the others. */
export interface DrivenAgent {
  readonly id: string
  /** Asks before it reads a file, too. */
  readonly asksToRead?: true
  /** Shows the output of a command only to its model. */
  readonly keepsOutput?: true
}

/** A newer version is used once its line is raised. */
export interface Program extends RegistryProgram {
  readonly name: string
  /** Those whose every ability is driven. */
  readonly agents: ReadonlyArray<DrivenAgent>
  /** Ids of further adapters that start it: a hostile repository is put before those, too. */
  readonly alsoAs?: ReadonlyArray<string>
  /** A model to which it offers other tools than to the one of its settings. */
  readonly furtherModel?: string
  /** It refuses to run for root. A test as root starts its Edge as an ordinary user. */
  readonly refusesRoot?: true
  /** Writes its settings; gives its environment. */
  readonly settle: (place: Place) => Readonly<Record<string, string>>
  /** Adds to the settings of a home what only some tests need: the server that asks, and tools that are off by default. */
  readonly extend?: (home: string, server: AskingServer) => void
  /** Arguments with which the program itself plays one prompt, everything allowed. Absent for programs that only serve a client. */
  readonly alone?: (prompt: string) => ReadonlyArray<string>
}

/** A server of the Model Context Protocol, as the command that starts it. */
export interface AskingServer {
  readonly command: string
  readonly args: ReadonlyArray<string>
  /** Fields that one program needs. */
  readonly type?: string
  readonly tools?: ReadonlyArray<string>
}

const write = (path: string, content: string): void => {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, content)
}

/** Adds a server to the settings of a program that keeps them in JSON, under `mcpServers`. */
const addServer =
  (...path: readonly [string, ...Array<string>]): NonNullable<Program["extend"]> =>
  (home, server) => {
    const file = join(home, ...path)
    const settings = existsSync(file) ? parseObject(readFileSync(file, "utf8")) : {}
    write(file, JSON.stringify({ ...settings, mcpServers: { [SERVER]: server } }))
  }

const extendCodex: NonNullable<Program["extend"]> = (home, { args, command }) =>
  appendFileSync(
    join(home, ".codex", "config.toml"),
    `[tools.update_plan]\nenabled = true\n[mcp_servers.${SERVER}]\ncommand = ${JSON.stringify(command)}\nargs = ${JSON.stringify(args)}\n`
  )

const settleCodex: Program["settle"] = ({ home, key, models }) => {
  write(
    join(home, ".codex", "config.toml"),
    `model = "fake-model"
model_provider = "fake"
check_for_update_on_startup = false
[analytics]
enabled = false
[agents]
max_depth = 2
[model_providers.fake]
name = "fake"
base_url = "${models}/v1"
wire_api = "responses"
env_key = "OPENAI_API_KEY"
request_max_retries = 1
stream_max_retries = 1
`
  )
  return { OPENAI_API_KEY: key }
}

const settleClaude: Program["settle"] = ({ home, key, models }) => ({
  ANTHROPIC_BASE_URL: models,
  ANTHROPIC_API_KEY: key,
  ANTHROPIC_MODEL: "claude-sonnet-4-5",
  CLAUDE_CONFIG_DIR: join(home, ".claude"),
  CLAUDE_CODE_MAX_RETRIES: "1",
  CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1"
})

export const programs: ReadonlyArray<Program> = [
  {
    name: "Claude Code",
    package: "@anthropic-ai/claude-code",
    version: "2.1.332",
    command: "claude",
    needsScripts: true,
    agents: [{ id: "claude-code" }],
    settle: settleClaude,
    extend: addServer(".claude", ".claude.json"),
    alone: (prompt) => ["-p", prompt, "--allowedTools", "Agent,Bash,Edit,Write"]
  },
  {
    name: "Claude Agent for ACP",
    package: "@agentclientprotocol/claude-agent-acp",
    version: "0.100.0",
    command: "claude-agent-acp",
    needsScripts: true,
    agents: [],
    alsoAs: ["claude-agent-acp"],
    refusesRoot: true,
    settle: settleClaude,
    extend: addServer(".claude", ".claude.json")
  },
  {
    name: "Codex",
    package: "@openai/codex",
    version: "0.171.0",
    command: "codex",
    agents: [{ id: "codex", asksToRead: true }],
    furtherModel: "gpt-6.1-sol",
    settle: settleCodex,
    extend: extendCodex,
    alone: (prompt) => ["exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", prompt]
  },
  {
    name: "Codex for ACP",
    package: "@agentclientprotocol/codex-acp",
    version: "2.6.0",
    command: "codex-acp",
    agents: [],
    alsoAs: ["codex-acp"],
    settle: settleCodex,
    extend: extendCodex
  },
  {
    name: "OpenCode",
    package: "opencode-ai",
    version: "1.18.33",
    command: "opencode",
    needsScripts: true,
    agents: [{ id: "opencode-acp" }],
    alsoAs: ["opencode"],
    alone: (prompt) => ["run", "--auto", prompt],
    settle: ({ home, key, models }) => {
      // Before plugins are loaded it installs packages next to the settings, and would try for minutes without a network.
      write(join(home, ".npmrc"), "fetch-retries=0\n")
      write(join(home, ".config", "opencode", ".npmrc"), "fetch-retries=0\n")
      const options = { baseURL: `${models}/v1`, apiKey: "{env:OPENAI_API_KEY}" }
      const modalities = { input: ["text", "image"], output: ["text"] }
      const model = {
        name: "Fake",
        tool_call: true,
        attachment: true,
        modalities,
        cost: { input: 10, output: 40, cache_read: 1, cache_write: 12 },
        limit: { context: 200_000, output: 8_000 }
      }
      write(
        join(home, ".config", "opencode", "opencode.json"),
        JSON.stringify({
          model: "fake/fake-model",
          enabled_providers: ["fake"],
          subagent_depth: 2,
          provider: {
            fake: {
              npm: "@ai-sdk/openai-compatible",
              name: "Fake",
              options,
              models: { "fake-model": model, "other-model": model }
            }
          }
        })
      )
      return {
        OPENAI_API_KEY: key,
        OPENCODE_DISABLE_MODELS_FETCH: "1",
        OPENCODE_DISABLE_LSP_DOWNLOAD: "1"
      }
    }
  },
  {
    name: "Gemini CLI",
    package: "@google/gemini-cli",
    version: "0.61.0",
    command: "gemini",
    agents: [{ id: "gemini-acp", keepsOutput: true }],
    alsoAs: ["gemini"],
    extend: addServer(".gemini", "settings.json"),
    alone: (prompt) => ["-p", prompt, "--approval-mode", "yolo", "--skip-trust"],
    settle: ({ home, key, models }) => {
      write(
        join(home, ".gemini", "settings.json"),
        JSON.stringify({
          security: { auth: { selectedType: "gemini-api-key" }, folderTrust: { enabled: false } },
          privacy: { usageStatisticsEnabled: false },
          telemetry: { enabled: false },
          general: { disableAutoUpdate: true }
        })
      )
      return { GEMINI_API_KEY: key, GOOGLE_GEMINI_BASE_URL: models, GEMINI_MODEL: "gemini-2.5-flash" }
    }
  },
  {
    name: "Qwen Code",
    package: "@qwen-code/qwen-code",
    version: "0.24.4",
    command: "qwen",
    agents: [],
    alsoAs: ["qwen", "qwen-acp"],
    extend: addServer(".qwen", "settings.json"),
    alone: (prompt) => [prompt, "--approval-mode", "yolo", "--auth-type", "openai"],
    settle: ({ home, key, models }) => {
      write(
        join(home, ".qwen", "settings.json"),
        JSON.stringify({
          security: { auth: { selectedType: "openai" } },
          privacy: { usageStatisticsEnabled: false },
          telemetry: { enabled: false },
          general: { disableAutoUpdate: true }
        })
      )
      return { OPENAI_API_KEY: key, OPENAI_BASE_URL: `${models}/v1`, OPENAI_MODEL: "fake-model" }
    }
  },
  {
    name: "Copilot CLI",
    package: "@github/copilot",
    version: "1.0.102",
    command: "copilot",
    agents: [],
    alsoAs: ["copilot", "copilot-acp"],
    extend: (home, server) =>
      addServer(".copilot", "mcp-config.json")(home, { ...server, type: "local", tools: ["*"] }),
    alone: (prompt) => ["-p", prompt, "--allow-all-tools", "--no-auto-update"],
    settle: ({ key, models }) => ({
      COPILOT_OFFLINE: "true",
      COPILOT_PROVIDER_BASE_URL: `${models}/v1`,
      COPILOT_PROVIDER_API_KEY: key,
      COPILOT_MODEL: "fake-model"
    })
  },
  {
    name: "Kimi Code",
    package: "@moonshot-ai/kimi-code",
    version: "2.1.0",
    command: "kimi",
    agents: [],
    alsoAs: ["kimi-acp"],
    extend: addServer(".kimi-code", "mcp.json"),
    alone: (prompt) => ["-p", prompt],
    settle: ({ home, key, models }) => {
      write(
        join(home, ".kimi-code", "config.toml"),
        `default_model = "fake"
[providers.fake]
type = "openai"
base_url = "${models}/v1"
api_key = "${key}"
[models.fake]
provider = "fake"
model = "fake-model"
max_context_size = 200000
`
      )
      return {}
    }
  },
  {
    name: "Pi",
    package: "@mariozechner/pi-coding-agent",
    version: "0.73.1",
    command: "pi",
    agents: [],
    alsoAs: ["pi"],
    alone: (prompt) => ["-p", prompt],
    settle: ({ home, key, models }) => {
      const folder = join(home, ".pi", "agent")
      const fake = {
        baseUrl: `${models}/v1`,
        apiKey: key,
        api: "openai-completions",
        models: ["fake-model", "other-model"].map((id) => ({ id, input: ["text", "image"] }))
      }
      write(join(folder, "models.json"), JSON.stringify({ providers: { fake } }))
      write(
        join(folder, "settings.json"),
        JSON.stringify({ defaultProvider: "fake", defaultModel: "fake-model" })
      )
      return { PI_OFFLINE: "1" }
    }
  }
]

/**
 * Agents whose program starts its own sandbox for each command: it reads only, and does not start in a confined run. Their models ask to run a
 * command without it.
 */
export const ownSandbox: ReadonlySet<string> = new Set(["codex-acp"])

/** A second model for conversations that change theirs, by agent. */
export const otherModels: Readonly<Record<string, string>> = {
  "claude-code": "claude-opus-4-1",
  codex: "other-model",
  opencode: "fake/other-model",
  "opencode-acp": "fake/other-model",
  gemini: "gemini-2.5-pro",
  pi: "fake/other-model",
  qwen: "other-model"
}
