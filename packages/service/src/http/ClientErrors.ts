/**
 * Handler of Node's `clientError`: connections without a request, or with a malformed one.
 *
 * Guarantees: a connection that never sent anything is closed without a response. A browser would take one for the response to its next
 * request. A slow request ends with 408. A malformed request is refused. A response in progress is never mixed with another.
 */
import type { ErrorCode } from "@corral/domain/errors/ErrorTable"
import type { RequestId } from "@corral/domain/identity/Ids"
import type { IncomingMessage, Server, ServerResponse } from "node:http"
import type { Socket } from "node:net"
import type { Duplex } from "node:stream"
import { endLateRequest, refuseUpgrade } from "./Refusal.ts"

interface Exchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
}

const codeOf = (code: string | undefined): ErrorCode =>
  code === "HPE_HEADER_OVERFLOW" || code === "HPE_CHUNK_EXTENSIONS_OVERFLOW"
    ? "payload_too_large"
    : "schema_validation_failed"

/** The connections of Node's HTTP server are net.Sockets. */
const isSilent = (socket: Duplex): boolean => (socket as Socket).bytesRead === 0

/** Answers what a server cannot parse. `idOf` returns the id of the response, with or without a request. */
export const answerClientErrors = (server: Server, idOf: (request?: IncomingMessage) => RequestId): void => {
  /** Last exchange of each connection, until its response ends. */
  const exchanges = new WeakMap<Duplex, Exchange>()
  server.on("request", (request, response) => {
    const { socket } = request
    const exchange = { request, response }
    exchanges.set(socket, exchange)
    response.once("close", () => {
      if (exchanges.get(socket) === exchange) exchanges.delete(socket)
    })
  })

  server.on("clientError", (error: NodeJS.ErrnoException, socket: Duplex) => {
    if (error.code === "ECONNRESET" || !socket.writable || isSilent(socket)) return socket.destroy()
    const exchange = exchanges.get(socket)
    // The response to the request before the malformed one is in progress.
    if (exchange?.request.complete === true)
      return void exchange.response.once("close", () => socket.destroy())
    if (exchange?.response.headersSent === true) return socket.destroy()
    const id = idOf(exchange?.request)
    if (error.code === "ERR_HTTP_REQUEST_TIMEOUT") return endLateRequest(socket, id)
    return refuseUpgrade(socket, { code: codeOf(error.code) }, id)
  })
}
