/**
 * Model services of each runtime: their hosts and keys for confined runs, and the variables of the Edge's environment with keys, addresses and
 * proxies. The hosts include the service that renews a sign-in. Hosts for telemetry and updates are not listed. The keys are those that a run can
 * have a placeholder for (ADR 66).
 *
 * The hosts follow the documentation of the runtimes in the versions of `docs/adapters.md`. Tests reach model servers on this machine only.
 */
import type { RuntimeKey, RuntimeNetwork } from "@corral/domain/run/RuntimeNetwork"

const anthropic = ["api.anthropic.com"]
const openAi = ["api.openai.com"]
const google = ["generativelanguage.googleapis.com"]

const anthropicKey: RuntimeKey = {
  variable: "ANTHROPIC_API_KEY",
  headers: ["x-api-key", "authorization"],
  hosts: anthropic,
  addressVariable: "ANTHROPIC_BASE_URL",
  prefix: "sk-ant-api03-"
}

/** Tokens of gateways, and of the sign-in that `claude setup-token` makes. */
const anthropicToken = (variable: string, prefix?: string): RuntimeKey => ({
  variable,
  headers: ["authorization"],
  hosts: anthropic,
  addressVariable: "ANTHROPIC_BASE_URL",
  prefix
})

const openAiKey = (variable = "OPENAI_API_KEY"): RuntimeKey => ({
  variable,
  headers: ["authorization"],
  hosts: openAi,
  addressVariable: "OPENAI_BASE_URL"
})

const googleKey = (variable: string): RuntimeKey => ({
  variable,
  headers: ["x-goog-api-key"],
  hosts: google,
  addressVariable: "GOOGLE_GEMINI_BASE_URL",
  prefix: "AIza"
})

/** Services that are compatible with OpenAI, by the variable of their key. */
const compatibleKeys: ReadonlyArray<RuntimeKey> = Object.entries({
  GROQ_API_KEY: "api.groq.com",
  MISTRAL_API_KEY: "api.mistral.ai",
  XAI_API_KEY: "api.x.ai",
  DEEPSEEK_API_KEY: "api.deepseek.com",
  OPENROUTER_API_KEY: "openrouter.ai"
}).map(([variable, host]) => ({ variable, headers: ["authorization"], hosts: [host] }))

/** Keys of runtimes for the models of several services. */
const keysOfServices: ReadonlyArray<RuntimeKey> = [
  anthropicKey,
  openAiKey(),
  googleKey("GEMINI_API_KEY"),
  googleKey("GOOGLE_API_KEY"),
  ...compatibleKeys
]

export const claudeNetwork: RuntimeNetwork = {
  hosts: [...anthropic, "claude.ai", "console.anthropic.com", "platform.claude.com"],
  addressVariables: ["ANTHROPIC_BASE_URL", "ANTHROPIC_BEDROCK_BASE_URL", "ANTHROPIC_VERTEX_BASE_URL"],
  keys: [
    anthropicKey,
    anthropicToken("ANTHROPIC_AUTH_TOKEN"),
    anthropicToken("CLAUDE_CODE_OAUTH_TOKEN", "sk-ant-oat01-")
  ]
}

export const codexNetwork: RuntimeNetwork = {
  hosts: [...openAi, "auth.openai.com", "chatgpt.com"],
  addressVariables: ["OPENAI_BASE_URL"],
  keys: [openAiKey(), openAiKey("CODEX_API_KEY")]
}

export const geminiNetwork: RuntimeNetwork = {
  hosts: [...google, "cloudcode-pa.googleapis.com", "oauth2.googleapis.com"],
  addressVariables: ["GOOGLE_GEMINI_BASE_URL", "GOOGLE_VERTEX_BASE_URL"],
  keys: [googleKey("GEMINI_API_KEY"), googleKey("GOOGLE_API_KEY")]
}

export const qwenNetwork: RuntimeNetwork = {
  hosts: ["chat.qwen.ai", "dashscope.aliyuncs.com", "dashscope-intl.aliyuncs.com", "portal.qwen.ai"],
  addressVariables: ["OPENAI_BASE_URL"],
  keys: [openAiKey()]
}

/** Runtimes for the models of several services. */
export const openCodeNetwork: RuntimeNetwork = {
  hosts: [...anthropic, ...openAi, ...google, "models.dev", "opencode.ai"],
  addressVariables: ["ANTHROPIC_BASE_URL", "OPENAI_BASE_URL"],
  keys: keysOfServices
}

export const piNetwork: RuntimeNetwork = {
  hosts: [...anthropic, ...openAi, ...google],
  addressVariables: ["ANTHROPIC_BASE_URL", "OPENAI_BASE_URL"],
  keys: keysOfServices
}

export const copilotNetwork: RuntimeNetwork = {
  hosts: ["api.github.com", "*.githubcopilot.com"],
  addressVariables: ["COPILOT_PROVIDER_BASE_URL"]
}

export const kimiNetwork: RuntimeNetwork = {
  hosts: ["api.kimi.com", "api.moonshot.ai", "api.moonshot.cn", "auth.kimi.com"],
  addressVariables: ["KIMI_BASE_URL", "MOONSHOT_BASE_URL"]
}

export const grokNetwork: RuntimeNetwork = {
  hosts: ["api.x.ai", "auth.x.ai", "accounts.x.ai", "cli-chat-proxy.grok.com"],
  addressVariables: ["XAI_API_BASE_URL", "GROK_MODELS_BASE_URL", "GROK_CLI_CHAT_PROXY_BASE_URL"]
}

/** Variables of the Edge's environment with proxies. */
export const proxies: ReadonlyArray<string> = [
  "HTTP_PROXY",
  "HTTPS_PROXY",
  "NO_PROXY",
  "http_proxy",
  "https_proxy",
  "no_proxy"
]

/** For programs that use any model service with a key. */
export const modelServices: ReadonlyArray<string> = [
  "ANTHROPIC_API_KEY",
  "OPENAI_API_KEY",
  "OPENAI_BASE_URL",
  "GEMINI_API_KEY",
  "GOOGLE_API_KEY",
  "GROQ_API_KEY",
  "MISTRAL_API_KEY",
  "XAI_API_KEY",
  "DEEPSEEK_API_KEY",
  "OPENROUTER_API_KEY"
]
