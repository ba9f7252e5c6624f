/**
 * JSON-RPC 2.0 as the Agent Client Protocol uses it: one object per line, requests in both directions, separate ids for each side. Also the methods
 * that an agent receives, with the params that the protocol's schema demands, and the report of a call whose line is over the limit: its reader
 * would wait for the result otherwise.
 *
 * Does not: read an incomplete list of steps, or a part of a message.
 */
import { LOST_RESULT } from "../text/JsonLines.ts"
import { isJsonObject, type JsonObject, objectOf } from "../text/Json.ts"
import type { SetSessionModelRequest, UnverifiedFields } from "./AcpSchema.ts"
import type * as Acp from "@agentclientprotocol/sdk"

// Requests to an agent: each method with the params that the protocol's schema demands.

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

export type RpcId = number | string

/** A message of the agent. `Invalid`: an object that is not a JSON-RPC message. */
export type RpcMessage =
  | { readonly _tag: "Request"; readonly id: RpcId; readonly method: string; readonly params: JsonObject }
  | { readonly _tag: "Notification"; readonly method: string; readonly params: JsonObject }
  | RpcResponse
  | { readonly _tag: "Invalid" }

export type RpcResponse =
  | { readonly _tag: "Result"; readonly id: RpcId; readonly result: JsonObject }
  | { readonly _tag: "Error"; readonly id: RpcId; readonly error: JsonObject }

const METHOD_NOT_FOUND = -32601
/** Method that no agent implements. Its error response shows that the agent has read everything before it. */
const BARRIER = "_corral/barrier"

const jsonrpc = "2.0"
const line = (value: object): string => `${JSON.stringify(value)}\n`

export const initializeLine = (id: RpcId, params: Acp.InitializeRequest): string =>
  line({ jsonrpc, id, method: "initialize", params })
export const requestLine = (id: RpcId, { method, params }: AcpRequest): string =>
  line({ jsonrpc, id, method, params })
export const barrierLine = (id: RpcId): string => line({ jsonrpc, id, method: BARRIER, params: {} })
export const cancelLine = (params: Acp.CancelNotification): string =>
  line({ jsonrpc, method: "session/cancel", params })
export const permissionLine = (id: RpcId, result: Acp.RequestPermissionResponse): string =>
  resultLine(id, result)
export const resultLine = (id: RpcId, result: object): string => line({ jsonrpc, id, result })
/** The error "method not found". */
export const notFoundLine = (id: RpcId, message: string): string =>
  line({ jsonrpc, id, error: { code: METHOD_NOT_FOUND, message } })

const invalid: RpcMessage = { _tag: "Invalid" }

export const readRpc = ({ error, id, method, params, result }: JsonObject): RpcMessage => {
  const isId = typeof id === "string" || typeof id === "number"
  if (typeof method === "string") {
    return isId
      ? { _tag: "Request", id, method, params: objectOf(params) }
      : { _tag: "Notification", method, params: objectOf(params) }
  }
  if (!isId) return invalid
  if (isJsonObject(error)) return { _tag: "Error", id, error }
  // Some responses have `result: null`.
  return result === undefined ? invalid : { _tag: "Result", id, result: objectOf(result) }
}

const content = [{ type: "content", content: { type: "text", text: LOST_RESULT } }]

/** The report with the fields that are whole; `undefined` if it is not about a call. */
export const lostReport = (params: JsonObject): JsonObject | undefined => {
  const { update }: UnverifiedFields<Acp.SessionNotification> = params
  const { rawOutput: _, ...report } = objectOf(update)
  switch (report["sessionUpdate"]) {
    case "tool_call":
    case "tool_call_update":
      return { ...params, update: { ...report, content } }
    default:
      return undefined
  }
}
