/**
 * Node's HTTP server as all services use it.
 *
 * Guarantees: limits on the time and size of requests, an answer to malformed requests, an end to stalled responses.
 */
import { STALLED_AFTER_SECONDS } from "@corral/domain/http/StreamEnd"
import type { RequestId } from "@corral/domain/identity/Ids"
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http"
import type { Duplex } from "node:stream"
import { answerClientErrors } from "./ClientErrors.ts"
import { OneWriteResponse } from "./OneWriteResponse.ts"
import { dropStalledResponses } from "./StalledResponses.ts"

/**
 * Length of the system's queue of connections that are not accepted yet; the system may allow fewer. Two thousand connections at once
 * overflow Node's default of 511. The system then drops their packets, and clients wait a second or more before they send them again.
 */
export const BACKLOG = 4_096

export const createNodeServer = (options: {
  readonly now: () => number
  /** Id of an answer, with or without a request. */
  readonly idOf: (request?: IncomingMessage) => RequestId
}): Server => {
  const server = createServer({
    ServerResponse: OneWriteResponse,
    maxHeaderSize: 16_384,
    headersTimeout: 5_000,
    requestTimeout: STALLED_AFTER_SECONDS * 1_000,
    // The guard refuses a request without a Host, with an error object.
    requireHostHeader: false,
    connectionsCheckingInterval: 2_500
  })
  answerClientErrors(server, options.idOf)
  dropStalledResponses(server, options.now)
  return server
}

/** Holds requests and upgrades that arrive before the routes are ready. The returned function hands them over. */
export const holdEarlyConnections = (server: Server): (() => void) => {
  const held: Array<() => void> = []
  const holdRequest = (request: IncomingMessage, response: ServerResponse) =>
    void held.push(() => server.emit("request", request, response))
  const holdUpgrade = (request: IncomingMessage, socket: Duplex, head: Buffer) =>
    void held.push(() => server.emit("upgrade", request, socket, head))
  server.on("request", holdRequest).on("upgrade", holdUpgrade)
  return () => {
    server.off("request", holdRequest).off("upgrade", holdUpgrade)
    for (const release of held) release()
  }
}
