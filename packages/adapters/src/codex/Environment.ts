/**
 * Part of the Edge's environment that every Codex adapter passes on.
 */

/** Its own settings, keys of model services, and the way to them. */
export const codexEnvironment: ReadonlyArray<string> = [
  "CODEX_*",
  "OPENAI_*",
  "AZURE_OPENAI_*",
  "HTTP_PROXY",
  "HTTPS_PROXY",
  "NO_PROXY",
  "http_proxy",
  "https_proxy",
  "no_proxy"
]
