/**
 * State of each runtime for confined runs: what goes into a run's private copy, and what comes back (`@corral/domain/run/RuntimeFolders`).
 *
 * `CORRAL_TEST_CONFINEMENT=preferred npm run test:runtimes` tests them with the real programs in the versions of `docs/adapters.md`. The folders
 * of Kimi Code and Grok Build follow what these programs write, and were not run confined with a sign-in. Goose has none, because it was never
 * run.
 */
import type { CredentialFile, RenewedToken, RuntimeFolders } from "@corral/domain/run/RuntimeFolders"

/** A token in an object, by the names of its members. */
const tokenAt = (
  around: ReadonlyArray<string>,
  time: string,
  ...values: ReadonlyArray<string>
): RenewedToken => ({
  values: values.map((name) => [...around, name]),
  time: [...around, time]
})

/** A file with the answer of an OAuth server. */
const oauthFile = (path: string, time: string): CredentialFile => ({
  path,
  tokens: [tokenAt([], time, "access_token", "refresh_token", "id_token")]
})

export const claudeFolders: RuntimeFolders = {
  state: [
    {
      path: ".claude",
      variable: "CLAUDE_CONFIG_DIR",
      settings: [
        "settings.json",
        "settings.local.json",
        "*.md",
        "*.sh",
        "agents",
        "commands",
        "hooks",
        "output-styles",
        "plugins",
        "rules",
        "skills",
        "projects/{workspace}/memory"
      ],
      // Where it is if the variable is set.
      copied: [{ path: ".claude.json", perWorkspace: ["projects"] }],
      credentials: [
        {
          path: ".credentials.json",
          tokens: [
            tokenAt(["claudeAiOauth"], "expiresAt", "accessToken", "refreshToken"),
            tokenAt(["mcpOAuth", "*"], "expiresAt", "accessToken", "refreshToken")
          ]
        }
      ],
      conversations: [
        {
          files: [
            "projects/{workspace}/{session}.jsonl",
            "projects/{workspace}/{session}/subagents/*",
            "projects/{workspace}/{session}/tool-results/*",
            "tasks/{session}/*.json"
          ],
          workspace: { file: "projects/{workspace}/{session}.jsonl" }
        }
      ]
    },
    { path: ".claude.json", kind: "file", perWorkspace: ["projects"] }
  ]
}

export const codexFolders: RuntimeFolders = {
  state: [
    {
      path: ".codex",
      variable: "CODEX_HOME",
      settings: [
        "config.toml",
        "*.config.toml",
        "hooks.json",
        "hooks",
        "AGENTS.md",
        "AGENTS.override.md",
        ".env",
        "agents",
        "prompts",
        "rules",
        "themes",
        // It writes others next to them.
        "skills/*",
        "plugins/*"
      ],
      copied: [{ path: "installation_id" }, { path: "version.json" }, { path: "models_cache.json" }],
      credentials: [
        {
          path: "auth.json",
          tokens: [
            {
              ...tokenAt(["tokens"], "", "id_token", "access_token", "refresh_token"),
              time: ["last_refresh"],
              timeIs: "renewal"
            }
          ]
        },
        { path: ".credentials.json", tokens: [tokenAt(["*"], "expires_at", "access_token", "refresh_token")] }
      ],
      conversations: [
        {
          files: ["sessions/*/*/*/rollout-*-{session}.jsonl"],
          workspace: { file: "sessions/*/*/*/rollout-*-{session}.jsonl", at: ["payload", "cwd"] }
        }
      ],
      database: { folder: "databases", variable: "CODEX_SQLITE_HOME" }
    }
  ]
}

export const geminiFolders: RuntimeFolders = {
  state: [
    {
      path: ".gemini",
      variable: "GEMINI_CLI_HOME",
      variableNames: "parent",
      settings: [
        "settings.json",
        "trustedFolders.json",
        ".env",
        "*.md",
        "agents",
        "commands",
        "extensions",
        "hooks",
        "policies",
        "skills"
      ],
      copied: [
        // Which folder has the conversations of a workspace.
        { path: "projects.json" },
        { path: "installation_id" },
        { path: "google_accounts.json" },
        { path: "state.json" },
        { path: "mcp-oauth-tokens.json" }
      ],
      credentials: [oauthFile("oauth_creds.json", "expiry_date")],
      conversations: [
        {
          files: ["tmp/{project}/chats/session-*-{session:8}.json*", "tmp/{project}/.project_root"],
          workspace: { file: "tmp/{project}/.project_root" }
        }
      ]
    }
  ]
}

export const qwenFolders: RuntimeFolders = {
  state: [
    {
      path: ".qwen",
      variable: "QWEN_HOME",
      settings: [
        "settings.json",
        "trustedFolders.json",
        ".env",
        "*.md",
        "agents",
        "commands",
        "extensions",
        "hooks",
        "skills"
      ],
      copied: [{ path: "installation_id" }, { path: "mcp-oauth-tokens.json" }],
      credentials: [oauthFile("oauth_creds.json", "expiry_date")],
      conversations: [{ files: ["projects/{workspace}/chats/{session}.jsonl"] }]
    }
  ]
}

export const openCodeFolders: RuntimeFolders = {
  state: [
    {
      path: ".local/share/opencode",
      variable: "XDG_DATA_HOME",
      variableNames: "parent",
      settings: ["bin"],
      credentials: [
        { path: "auth.json", tokens: [tokenAt(["*"], "expires", "access", "refresh")] },
        {
          path: "mcp-auth.json",
          tokens: [tokenAt(["*", "tokens"], "expiresAt", "accessToken", "refreshToken")]
        }
      ],
      database: { folder: "databases", variable: "OPENCODE_DB", file: "opencode.db" }
    },
    {
      path: ".local/state/opencode",
      variable: "XDG_STATE_HOME",
      variableNames: "parent",
      copied: [{ path: "model.json" }]
    },
    {
      path: ".config/opencode",
      variable: "XDG_CONFIG_HOME",
      variableNames: "parent",
      settings: [
        "opencode.json",
        "opencode.jsonc",
        "config.json",
        "tui.json",
        "AGENTS.md",
        ".npmrc",
        "agent",
        "agents",
        "command",
        "commands",
        "mode",
        "modes",
        "plugin",
        "plugins",
        "skill",
        "skills",
        "theme",
        "themes",
        "tool",
        "tools",
        // Packages of plugins and tools.
        "package.json",
        "package-lock.json",
        "bun.lock",
        "node_modules"
      ]
    }
  ]
}

export const copilotFolders: RuntimeFolders = {
  state: [
    {
      path: ".copilot",
      variable: "COPILOT_HOME",
      settings: [
        "settings.json",
        "mcp-config.json",
        "lsp-config.json",
        "copilot-instructions.md",
        "agents",
        "extensions",
        "hooks",
        "instructions",
        "pkg",
        "skills"
      ],
      // It has the sign-in, which does not expire, and is written at each start.
      copied: [{ path: "config.json" }],
      conversations: [
        {
          files: [
            "session-state/{session}/events.jsonl",
            "session-state/{session}/workspace.yaml",
            "session-state/{session}/session.db",
            "session-state/{session}/plan.md",
            "session-state/{session}/checkpoints/*.md"
          ],
          workspace: { file: "session-state/{session}/events.jsonl", at: ["data", "context", "cwd"] }
        }
      ]
    }
  ]
}

export const kimiFolders: RuntimeFolders = {
  state: [
    {
      path: ".kimi-code",
      variable: "KIMI_CODE_HOME",
      settings: ["config.toml", "mcp.json", "AGENTS.md", "agents", "plugins", "skills"],
      copied: [{ path: "device_id" }],
      credentials: [
        {
          path: "credentials/kimi-code.json",
          tokens: [tokenAt([], "expires_at", "access_token", "refresh_token")]
        }
      ]
    }
  ]
}

export const grokFolders: RuntimeFolders = {
  state: [
    {
      path: ".grok",
      settings: [
        "config.toml",
        "AGENTS.md",
        "agents",
        "bin",
        "hooks",
        "installed-plugins",
        "plugins",
        "skills"
      ],
      copied: [{ path: "auth.json" }, { path: "agent_id" }, { path: "models_cache.json" }]
    }
  ]
}

export const piFolders: RuntimeFolders = {
  state: [
    {
      path: ".pi/agent",
      variable: "PI_CODING_AGENT_DIR",
      settings: [
        "settings.json",
        "models.json",
        "keybindings.json",
        "AGENTS.md",
        "SYSTEM.md",
        "APPEND_SYSTEM.md",
        "bin",
        "extensions",
        "git",
        "npm",
        "prompts",
        "skills",
        "themes"
      ],
      credentials: [{ path: "auth.json", tokens: [tokenAt(["*"], "expires", "access", "refresh")] }],
      conversations: [{ files: ["sessions/--{workspace:slashes}--/*_{session}.jsonl"] }]
    }
  ]
}
