/**
 * Folders of each runtime for confined runs: where it keeps its state, and what in it a later run obeys or executes.
 *
 * `CORRAL_TEST_CONFINEMENT=preferred npm run test:runtimes` tests them with the real programs in the versions of `docs/adapters.md`. The folders
 * of Kimi Code and of Codex over ACP follow their settings and were not run confined. Goose has none, because it was never run.
 */
import type { RuntimeFolders } from "@corral/domain/run/RuntimeFolders"

export const claudeFolders: RuntimeFolders = {
  state: [
    {
      path: ".claude",
      variable: "CLAUDE_CONFIG_DIR",
      executed: [
        "settings.json",
        "settings.local.json",
        "CLAUDE.md",
        "agents/",
        "commands/",
        "hooks/",
        "output-styles/",
        "plugins/",
        "rules/",
        "skills/"
      ]
    },
    { path: ".claude.json", kind: "file" }
  ]
}

export const codexFolders: RuntimeFolders = {
  state: [
    {
      path: ".codex",
      variable: "CODEX_HOME",
      executed: ["config.toml", "hooks.json", "AGENTS.md", "prompts/", "rules/"]
    }
  ]
}

export const geminiFolders: RuntimeFolders = {
  state: [
    {
      path: ".gemini",
      executed: [
        "settings.json",
        "trustedFolders.json",
        ".env",
        "GEMINI.md",
        "agents/",
        "commands/",
        "extensions/",
        "policies/",
        "skills/"
      ]
    }
  ]
}

export const qwenFolders: RuntimeFolders = {
  state: [
    {
      path: ".qwen",
      executed: [
        "settings.json",
        "trustedFolders.json",
        ".env",
        "QWEN.md",
        "AGENTS.md",
        "agents/",
        "commands/",
        "extensions/",
        "skills/"
      ]
    }
  ]
}

export const openCodeFolders: RuntimeFolders = {
  state: [
    { path: ".local/share/opencode", executed: ["bin/"] },
    { path: ".local/state/opencode" },
    {
      path: ".config/opencode",
      executed: [
        "opencode.json",
        "opencode.jsonc",
        "config.json",
        "AGENTS.md",
        "agent/",
        "agents/",
        "command/",
        "commands/",
        "plugin/",
        "plugins/",
        "skill/",
        "skills/",
        "tool/",
        "tools/"
      ]
    }
  ]
}

export const copilotFolders: RuntimeFolders = {
  state: [
    {
      path: ".copilot",
      variable: "COPILOT_HOME",
      executed: [
        "config.json",
        "mcp-config.json",
        "lsp-config.json",
        "copilot-instructions.md",
        "agents/",
        "extensions/",
        "hooks/",
        "skills/"
      ]
    }
  ]
}

export const kimiFolders: RuntimeFolders = {
  state: [
    {
      path: ".kimi-code",
      executed: ["config.toml", "mcp.json", "AGENTS.md", "agents/", "plugins/", "skills/"]
    }
  ]
}

export const grokFolders: RuntimeFolders = {
  state: [
    {
      path: ".grok",
      executed: ["config.toml", "AGENTS.md", "agents/", "bin/", "hooks/", "plugins/", "skills/"]
    }
  ]
}

export const piFolders: RuntimeFolders = {
  state: [
    {
      path: ".pi/agent",
      executed: [
        "settings.json",
        "models.json",
        "AGENTS.md",
        "SYSTEM.md",
        "bin/",
        "extensions/",
        "prompts/",
        "skills/",
        "themes/"
      ]
    }
  ]
}
