/** Requests to an agent: each method with the params that the protocol's schema demands. */
import type * as Acp from "@agentclientprotocol/sdk"
import type { SetSessionModelRequest } from "./AcpExtensions.ts"

interface ParamsByMethod {
  readonly "session/new": Acp.NewSessionRequest
  readonly "session/load": Acp.LoadSessionRequest
  readonly "session/resume": Acp.ResumeSessionRequest
  readonly "session/set_mode": Acp.SetSessionModeRequest
  readonly "session/set_config_option": Acp.SetSessionConfigOptionRequest
  readonly "session/set_model": SetSessionModelRequest
  readonly "session/prompt": Acp.PromptRequest
}

export type AcpRequest = {
  readonly [Method in keyof ParamsByMethod]: {
    readonly method: Method
    readonly params: ParamsByMethod[Method]
  }
}[keyof ParamsByMethod]

/** The first request, the same in every conversation. No file system and no terminals: agents use their own tools. */
export const initializeParams: Acp.InitializeRequest = {
  protocolVersion: 1,
  clientCapabilities: { fs: { readTextFile: false, writeTextFile: false }, terminal: false },
  clientInfo: { name: "corral", title: "Corral", version: "1" }
}
