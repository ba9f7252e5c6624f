/** Variables of the Edge's environment that every Codex adapter passes on: settings of Codex, keys of model services, proxies. */
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
