/**
 * JSON-RPC 2.0 as the Agent Client Protocol speaks it: one object a line, requests in both directions, ids of each side its own.
 */
import { isJsonObject, objectOf, type JsonObject } from "../text/Json.ts"

export type RpcId = number | string

/** What the other side sent. `Strange` is an object that is none of these. */
export type RpcMessage =
  | { readonly _tag: "Request"; readonly id: RpcId; readonly method: string; readonly params: JsonObject }
  | { readonly _tag: "Notification"; readonly method: string; readonly params: JsonObject }
  | { readonly _tag: "Result"; readonly id: RpcId; readonly result: JsonObject }
  | { readonly _tag: "Error"; readonly id: RpcId; readonly error: JsonObject }
  | { readonly _tag: "Strange" }

/** The method is not there: for requests of an agent that we serve none of. */
export const METHOD_NOT_FOUND = -32601

const jsonrpc = "2.0"
const line = (value: object): string => `${JSON.stringify(value)}\n`

export const rpcRequest = (id: RpcId, method: string, params: object): string =>
  line({ jsonrpc, id, method, params })
export const rpcNotification = (method: string, params: object): string => line({ jsonrpc, method, params })
export const rpcAnswer = (id: RpcId, result: object): string => line({ jsonrpc, id, result })
export const rpcRefusal = (id: RpcId, code: number, message: string): string =>
  line({ jsonrpc, id, error: { code, message } })

const strange: RpcMessage = { _tag: "Strange" }

export const readRpc = ({ error, id, method, params, result }: JsonObject): RpcMessage => {
  const isId = typeof id === "string" || typeof id === "number"
  if (typeof method === "string") {
    return isId
      ? { _tag: "Request", id, method, params: objectOf(params) }
      : { _tag: "Notification", method, params: objectOf(params) }
  }
  if (!isId) return strange
  if (isJsonObject(error)) return { _tag: "Error", id, error }
  // Some answers carry nothing.
  return result === undefined ? strange : { _tag: "Result", id, result: objectOf(result) }
}
