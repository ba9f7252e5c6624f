/**
 * The real programs: which versions, and how each is told where its model is.
 */
import { mkdirSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"

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
  /** Tells nobody but its model what a command printed. */
  readonly keepsOutput?: true
}

export interface Program {
  readonly name: string
  readonly package: string
  /** Exact: a registry's newest is for whoever raises this line. */
  readonly version: string
  readonly command: string
  /** Its package puts the program in place with a script of its own. */
  readonly needsScripts?: boolean
  readonly agents: ReadonlyArray<DrivenAgent>
  /** Writes its settings; gives its environment. */
  readonly settle: (place: Place) => Readonly<Record<string, string>>
}

const write = (path: string, content: string): void => {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, content)
}

export const programs: ReadonlyArray<Program> = [
  {
    name: "Claude Code",
    package: "@anthropic-ai/claude-code",
    version: "2.1.329",
    command: "claude",
    needsScripts: true,
    agents: [{ id: "claude-code" }],
    settle: ({ home, key, models }) => ({
      ANTHROPIC_BASE_URL: models,
      ANTHROPIC_API_KEY: key,
      ANTHROPIC_MODEL: "claude-sonnet-4-5",
      CLAUDE_CONFIG_DIR: join(home, ".claude"),
      CLAUDE_CODE_MAX_RETRIES: "1",
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1"
    })
  },
  {
    name: "Codex",
    package: "@openai/codex",
    version: "0.169.0",
    command: "codex",
    agents: [{ id: "codex", asksToRead: true }],
    settle: ({ home, key, models }) => {
      write(
        join(home, ".codex", "config.toml"),
        `model = "fake-model"
model_provider = "fake"
check_for_update_on_startup = false
[analytics]
enabled = false
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
  },
  {
    name: "OpenCode",
    package: "opencode-ai",
    version: "1.18.33",
    command: "opencode",
    needsScripts: true,
    agents: [{ id: "opencode-acp" }],
    settle: ({ home, key, models }) => {
      const options = { baseURL: `${models}/v1`, apiKey: "{env:OPENAI_API_KEY}" }
      const model = { name: "Fake", tool_call: true, limit: { context: 200_000, output: 8_000 } }
      write(
        join(home, ".config", "opencode", "opencode.json"),
        JSON.stringify({
          model: "fake/fake-model",
          enabled_providers: ["fake"],
          provider: {
            fake: {
              npm: "@ai-sdk/openai-compatible",
              name: "Fake",
              options,
              models: { "fake-model": model }
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
  }
]

/** What every program gets: a proxy that leads nowhere. Loopback is reached, nothing else. */
export const noNetwork = {
  HTTP_PROXY: "http://127.0.0.1:9",
  HTTPS_PROXY: "http://127.0.0.1:9",
  NO_PROXY: "127.0.0.1,localhost"
} as const
