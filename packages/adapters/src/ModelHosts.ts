/**
 * Hosts of each runtime for confined runs: its model service and the service that renews its sign-in. Hosts for telemetry and updates are not
 * listed.
 *
 * The hosts follow the documentation of the runtimes in the versions of `docs/adapters.md`. Tests reach model servers on this machine only.
 */
import type { RuntimeNetwork } from "@corral/domain/run/RuntimeNetwork"

const anthropic = ["api.anthropic.com"]
const openAi = ["api.openai.com"]
const google = ["generativelanguage.googleapis.com"]

export const claudeNetwork: RuntimeNetwork = {
  hosts: [...anthropic, "claude.ai", "console.anthropic.com", "platform.claude.com"],
  addressVariables: ["ANTHROPIC_BASE_URL", "ANTHROPIC_BEDROCK_BASE_URL", "ANTHROPIC_VERTEX_BASE_URL"]
}

export const codexNetwork: RuntimeNetwork = {
  hosts: [...openAi, "auth.openai.com", "chatgpt.com"],
  addressVariables: ["OPENAI_BASE_URL"]
}

export const geminiNetwork: RuntimeNetwork = {
  hosts: [...google, "cloudcode-pa.googleapis.com", "oauth2.googleapis.com"],
  addressVariables: ["GOOGLE_GEMINI_BASE_URL", "GOOGLE_VERTEX_BASE_URL"]
}

export const qwenNetwork: RuntimeNetwork = {
  hosts: ["chat.qwen.ai", "dashscope.aliyuncs.com", "dashscope-intl.aliyuncs.com", "portal.qwen.ai"],
  addressVariables: ["OPENAI_BASE_URL"]
}

/** Runtimes for the models of several services. */
export const openCodeNetwork: RuntimeNetwork = {
  hosts: [...anthropic, ...openAi, ...google, "models.dev", "opencode.ai"],
  addressVariables: ["ANTHROPIC_BASE_URL", "OPENAI_BASE_URL"]
}

export const piNetwork: RuntimeNetwork = {
  hosts: [...anthropic, ...openAi, ...google],
  addressVariables: ["ANTHROPIC_BASE_URL", "OPENAI_BASE_URL"]
}

export const copilotNetwork: RuntimeNetwork = {
  hosts: ["api.github.com", "*.githubcopilot.com"],
  addressVariables: ["COPILOT_PROVIDER_BASE_URL"]
}

export const kimiNetwork: RuntimeNetwork = {
  hosts: ["api.kimi.com", "api.moonshot.ai", "api.moonshot.cn", "auth.kimi.com"],
  addressVariables: ["KIMI_BASE_URL", "MOONSHOT_BASE_URL"]
}
