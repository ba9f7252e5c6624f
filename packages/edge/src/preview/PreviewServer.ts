/**
 * Listener of one preview: a separate origin on loopback, never the Edge's. Passes on what `admitVisitor` admits, and sets the protecting
 * headers on every response.
 *
 * Guarantees: the listener and all its sockets close immediately with the scope.
 */
import type { RequestId } from "@corral/domain/identity/Ids"
import { Clock, Effect, Exit, Fiber, Scope } from "effect"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo, Socket } from "node:net"
import type { Duplex } from "node:stream"
import { answerClientErrors } from "@corral/service/http/ClientErrors"
import { requestIdOf } from "@corral/service/http/RequestId"
import { refuseUpgrade, standardHeaders } from "@corral/service/http/Refusal"
import { dropStalledResponses } from "@corral/service/http/StalledResponses"
import { mint } from "@corral/service/Identifiers"
import { admitVisitor } from "./PreviewAdmission.ts"
import { protectionHeaders } from "./ContentPolicy.ts"
import type { PreviewGate } from "./PreviewGate.ts"
import { refusePreview, type PreviewUpstream } from "./PreviewUpstream.ts"

const MAX_CONNECTIONS = 256

/** Page for browsers that do not continue automatically. */
const ENTRY_PAGE = `<!doctype html><meta charset="utf-8"><title>Preview</title><p><a href="/">Open the preview</a></p>\n`

/**
 * Sets the cookie and sends the browser to the preview, from a page of the preview itself. After a redirect, the browser would treat the request
 * as coming from the site of the link, and send no same-site cookie. The page with the ticket is not in the history.
 */
const enter = (response: ServerResponse, setCookie: string): void => {
  response.writeHead(200, {
    "content-type": "text/html; charset=utf-8",
    "content-length": Buffer.byteLength(ENTRY_PAGE),
    refresh: "0; url=/",
    "set-cookie": setCookie
  })
  response.end(ENTRY_PAGE)
}

/** Succeeds with the port of the listener. */
export const servePreview = Effect.fnUntraced(function* (gate: PreviewGate, source: PreviewUpstream) {
  const clock = yield* Clock.Clock
  const services = yield* Effect.context<never>()
  const server = createServer({
    maxHeaderSize: 16_384,
    headersTimeout: 5_000,
    requestTimeout: 300_000,
    requireHostHeader: false
  })
  server.maxConnections = MAX_CONNECTIONS
  const now = () => clock.currentTimeMillisUnsafe()
  answerClientErrors(server, (request) =>
    request === undefined ? mint<RequestId>("req", now()) : requestId(request)
  )
  dropStalledResponses(server, now)
  const sockets = new Set<Socket>()
  server.on("connection", (socket) => {
    sockets.add(socket)
    socket.once("close", () => sockets.delete(socket))
  })

  const port = yield* Effect.acquireRelease(
    Effect.callback<number>((resume) => {
      server.once("error", (error) => resume(Effect.die(error)))
      server.listen({ host: "127.0.0.1", port: 0 }, () =>
        resume(Effect.succeed((server.address() as AddressInfo).port))
      )
    }),
    () =>
      Effect.callback<void>((resume) => {
        server.close(() => resume(Effect.void))
        for (const socket of sockets) socket.destroy()
      })
  )
  // Closed before the listener, so that responses in progress release their resources.
  const answering = yield* Effect.acquireRelease(Scope.make(), (scope) => Scope.close(scope, Exit.void))

  const requestId = (request: IncomingMessage): RequestId =>
    requestIdOf(request.headers) ?? mint<RequestId>("req", clock.currentTimeMillisUnsafe())

  /** Runs until the response is complete or the client disconnects. */
  const run = (effect: Effect.Effect<void>, client: ServerResponse | Duplex): void => {
    const fiber = Fiber.runIn(Effect.runForkWith(services)(effect), answering)
    client.once("close", () => fiber.interruptUnsafe())
  }

  server.on("request", (request: IncomingMessage, response: ServerResponse) => {
    const id = requestId(request)
    for (const [name, value] of Object.entries({
      ...standardHeaders(id),
      ...protectionHeaders(port, source.kind)
    })) {
      response.setHeader(name, value)
    }
    const admission = admitVisitor(request, port, gate, clock.currentTimeMillisUnsafe())
    switch (admission._tag) {
      case "Refuse":
        return refusePreview(response, admission, id)
      case "Enter":
        return enter(response, admission.setCookie)
      case "Pass":
        return run(source.serve({ request, response, requestId: id }, port), response)
    }
  })

  server.on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    socket.on("error", () => undefined)
    const id = requestId(request)
    const admission = admitVisitor(request, port, gate, clock.currentTimeMillisUnsafe())
    if (admission._tag === "Refuse") return refuseUpgrade(socket, admission, id)
    // A ticket opens a page, not a socket.
    if (admission._tag === "Enter") return refuseUpgrade(socket, { code: "unauthorized" }, id)
    return run(source.upgrade({ request, socket, head, requestId: id }, port), socket)
  })

  return port
})
