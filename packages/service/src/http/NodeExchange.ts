/** Node's request and response behind a request of Effect's server, for code that works on bytes and sockets. */
import { NodeHttpServerRequest } from "@effect/platform-node"
import type { HttpServerRequest } from "effect/http"
import type { IncomingMessage, ServerResponse } from "node:http"

export interface NodeExchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
}

/** The exchange of a request that `NodeHttpServer` received over HTTP/1.1, the only version that services speak. */
export const nodeExchange = (routed: HttpServerRequest.HttpServerRequest): NodeExchange => ({
  request: NodeHttpServerRequest.toIncomingMessage(routed) as IncomingMessage,
  response: NodeHttpServerRequest.toServerResponse(routed) as ServerResponse
})
