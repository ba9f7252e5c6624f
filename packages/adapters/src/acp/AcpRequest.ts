/** Requests to an agent: each method with the params that the protocol's schema demands. */
import type * as Acp from "@agentclientprotocol/sdk"
import type { JsonObject } from "../text/Json.ts"
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

/**
 * The first request. No file system and no terminals: agents use their own tools. Forms, links, notices and compactions are shown. `clientMeta`
 * is what the agent knows beyond the schema.
 */
export const initializeParams = (clientMeta: JsonObject | undefined): Acp.InitializeRequest => ({
  protocolVersion: 1,
  clientCapabilities: {
    fs: { readTextFile: false, writeTextFile: false },
    terminal: false,
    session: { notices: {}, compaction: {} },
    elicitation: { form: {}, url: {} },
    ...(clientMeta === undefined ? {} : { _meta: clientMeta })
  },
  clientInfo: { name: "corral", title: "Corral", version: "1" }
})
