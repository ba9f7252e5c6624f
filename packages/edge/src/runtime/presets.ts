/**
 * Runners that come with Corral: the documented command lines with which these tools do one task and exit. None of them asks before it acts. A
 * runner with the same id in the configuration replaces a preset.
 */
import type { CommandLine } from "@corral/adapters/CommandLine"
import { aiderProject, gooseProject } from "@corral/adapters/ProjectFiles"

export interface Preset extends CommandLine {
  readonly id: string
}

/** Variables with keys and addresses of model services. */
const MODELS = [
  "ANTHROPIC_API_KEY",
  "OPENAI_API_KEY",
  "OPENAI_API_BASE",
  "OPENAI_BASE_URL",
  "GEMINI_API_KEY",
  "GOOGLE_API_KEY",
  "OPENROUTER_API_KEY",
  "DEEPSEEK_API_KEY",
  "OLLAMA_HOST",
  "HTTP_PROXY",
  "HTTPS_PROXY",
  "NO_PROXY"
]

export const presets: ReadonlyArray<Preset> = [
  {
    id: "aider",
    label: "Aider",
    command: [
      "aider",
      "--yes-always",
      "--no-auto-commits",
      "--no-pretty",
      "--no-check-update",
      "--message={prompt}"
    ],
    stdin: "none",
    install: "Install Aider: python -m pip install aider-install && aider-install",
    passEnv: ["AIDER_*", ...MODELS],
    projectSettings: aiderProject
  },
  {
    id: "goose",
    label: "Goose",
    command: ["goose", "run", "--no-session", "--quiet", "--instructions", "-"],
    stdin: "prompt",
    install: "Install the Goose command line, then run `goose configure`.",
    passEnv: ["GOOSE_*", ...MODELS],
    projectSettings: gooseProject
  },
  {
    id: "llm",
    label: "LLM",
    command: ["llm", "prompt"],
    stdin: "prompt",
    install: "Install LLM: pipx install llm",
    passEnv: ["LLM_*", ...MODELS]
  }
]
