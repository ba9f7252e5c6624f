/**
 * Project files that execute something, by runtime. They come from the sources and documentation of the versions in `docs/adapters.md`, and
 * `npm run test:runtimes` tests them with the real programs.
 */
import type { ProjectFile, ProjectSettings } from "@corral/domain/run/ProjectSettings"
import { arrayOf, objectOf, parseObject } from "./text/Json.ts"

const files = (runs: string, ...paths: ReadonlyArray<string>): ReadonlyArray<ProjectFile> =>
  paths.map((path) => ({ path, runs }))

/** Files that the runtime has no option to ignore. */
const unavoidable = (all: ReadonlyArray<ProjectFile>): ReadonlyArray<ProjectFile> =>
  all.map((file) => ({ ...file, unavoidable: true }))

const mcpJson = files("MCP servers", ".mcp.json")

/** `permissions.deny` of a settings file. */
const claudeDenyRules = (text: string): ReadonlyArray<string> | undefined => {
  const settings = parseObject(text)
  if (settings === undefined) return undefined
  return arrayOf(objectOf(settings["permissions"])["deny"]).filter((rule) => typeof rule === "string")
}

const claudeSettings = [".claude/settings.json", ".claude/settings.local.json"]

export const claudeProject: ProjectSettings = {
  files: [
    ...files("hooks, helper commands, environment, plugins, permissions", ...claudeSettings),
    ...mcpJson,
    ...files("shell commands, hooks", ".claude/agents", ".claude/commands", ".claude/skills")
  ],
  denyRules: { files: claudeSettings, read: claudeDenyRules }
}

const codexFiles = [
  ...files("MCP servers, hooks, notify, environment, providers", ".codex/config.toml"),
  ...files("hooks", ".codex/hooks.json"),
  ...files("commands without a question", ".codex/rules")
]

export const codexProject: ProjectSettings = {
  files: codexFiles,
  // Codex does not read them in an untrusted project.
  instructions: ["AGENTS.md"]
}

/** Codex over ACP trusts every folder that it works in, before it reads its configuration. */
export const codexAcpProject: ProjectSettings = { files: unavoidable(codexFiles) }

/** OpenCode loads plugins of the project with a loader that ignores its settings. */
export const openCodeProject: ProjectSettings = {
  files: unavoidable([
    ...files("plugins, MCP servers, formatters, language servers", "opencode.json", "opencode.jsonc"),
    ...files("plugins, tools, commands, packages", ".opencode")
  ])
}

const geminiFiles = [
  ...files("hooks, MCP servers, tool commands", ".gemini/settings.json"),
  ...files("environment", ".gemini/.env", ".env"),
  ...files("shell commands, MCP servers", ".gemini/agents", ".gemini/commands", ".gemini/extensions"),
  ...files("commands without a question", ".gemini/policies")
]

/** With one prompt per process, Gemini refuses an untrusted folder, and reads all of these files in a trusted one. */
export const geminiProject: ProjectSettings = { files: unavoidable(geminiFiles) }

/** Over ACP, Gemini works in an untrusted folder, and reads neither these files nor its instructions there. */
export const geminiAcpProject: ProjectSettings = { files: geminiFiles, instructions: ["GEMINI.md"] }

export const qwenProject: ProjectSettings = {
  files: [
    ...files("hooks, MCP servers, tool commands, permissions", ".qwen/settings.json"),
    ...files("environment", ".qwen/.env", ".env"),
    ...mcpJson,
    ...files("shell commands, MCP servers", ".qwen/agents", ".qwen/commands", ".qwen/extensions"),
    ...files("shell commands", ".qwen/skills")
  ],
  instructions: ["QWEN.md", "AGENTS.md"]
}

const copilotFiles = [
  ...files("hooks", ".github/hooks", ".github/copilot/settings.json", ".github/copilot/settings.local.json"),
  ...files("hooks, plugins", ...claudeSettings),
  ...mcpJson,
  ...files("MCP servers", ".github/mcp.json", ".vscode/mcp.json", ".devcontainer/devcontainer.json"),
  ...files("language servers", ".github/lsp.json"),
  ...files("extensions", ".github/extensions"),
  ...files("MCP servers", ".github/agents", ".claude/agents")
]

/** Whether the text contains the path of the folder, or of one of its parents, as a JSON string. */
const names = (text: string, folder: string): boolean => {
  for (let at = folder; ; at = at.slice(0, at.lastIndexOf("/"))) {
    if (text.includes(JSON.stringify(at === "" ? "/" : at))) return true
    if (at === "" || at === "/") return false
  }
}

/** Copilot CLI reads none of these in a folder that it does not trust. */
export const copilotProject: ProjectSettings = {
  files: copilotFiles,
  trust: { homeVariable: "COPILOT_HOME", defaultHome: ".copilot", file: "config.json", trusts: names }
}

/** Copilot over ACP runs the hooks of an untrusted folder. */
export const copilotAcpProject: ProjectSettings = { files: unavoidable(copilotFiles) }

export const kimiProject: ProjectSettings = {
  files: unavoidable([...mcpJson, ...files("MCP servers", ".kimi-code/mcp.json", ".kimi/mcp.json")])
}

export const piProject: ProjectSettings = {
  files: [
    ...files("extensions", ".pi/extensions"),
    // It sets the shell and a prefix for each command.
    ...unavoidable(files("shell commands, packages", ".pi/settings.json"))
  ]
}

/** Aider has no option to ignore them. They set the commands that it runs after an edit, and commands to start with. */
export const aiderProject: ProjectSettings = {
  files: unavoidable([
    ...files("lint, test and start commands", ".aider.conf.yml"),
    ...files("environment, lint and test commands", ".env")
  ])
}

/** Goose enables every plugin that it finds there, and no option turns off those of a project. Its source was read, not run. */
export const gooseProject: ProjectSettings = {
  files: unavoidable(files("hooks, MCP servers", ".agents/plugins"))
}

/** No option to ignore them is known. It reads the settings of Claude Code too. */
export const grokProject: ProjectSettings = {
  files: unavoidable([
    ...mcpJson,
    ...files(
      "hooks, MCP servers",
      ".grok/config.toml",
      ".grok/hooks",
      ".grok/plugins",
      ".claude/settings.json"
    )
  ])
}
