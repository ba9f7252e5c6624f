/**
 * The listener of one preview: an origin of its own on loopback, never the Edge's. It lets through what `admit` admits, and puts the
 * protecting headers on every answer.
 *
 * It closes with its scope, and every socket with it, at once.
 */
import type { RequestId } from "@corral/domain/identity/Ids"
import { Clock, Effect, Exit, Fiber, Scope } from "effect"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo, Socket } from "node:net"
import type { Duplex } from "node:stream"
import { answerClientErrors } from "@corral/service/http/ClientErrors"
import { requestIdOf } from "@corral/service/http/Listener"
import { refuseUpgrade, standardHeaders } from "@corral/service/http/Refusal"
import { dropStalledResponses } from "@corral/service/http/StalledResponses"
import { mint } from "@corral/service/Identifiers"
import { admit } from "./Admission.ts"
import { protection } from "./ContentPolicy.ts"
import type { PreviewGate } from "./PreviewGate.ts"
import { refuse, type Source } from "./Source.ts"

const MAX_CONNECTIONS = 256

/** Seen where a browser does not go on by itself. */
const ENTRANCE = `<!doctype html><meta charset="utf-8"><title>Preview</title><p><a href="/">Open the preview</a></p>\n`

/**
 * Hands over the cookie and sends the browser on, out of this very page: after a redirect the request would still come from where the
 * address was followed, and without a cookie that is for its own site alone. The page with the ticket stays in no history.
 */
const enter = (response: ServerResponse, setCookie: string): void => {
  response.writeHead(200, {
    "content-type": "text/html; charset=utf-8",
    "content-length": Buffer.byteLength(ENTRANCE),
    refresh: "0; url=/",
    "set-cookie": setCookie
  })
  response.end(ENTRANCE)
}

/** Gives the port, once it is listened on. */
export const servePreview = Effect.fnUntraced(function* (gate: PreviewGate, source: Source) {
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
  // Closed before the listener: what is being answered lets go of what it holds.
  const answering = yield* Effect.acquireRelease(Scope.make(), (scope) => Scope.close(scope, Exit.void))

  const requestId = (request: IncomingMessage): RequestId =>
    requestIdOf(request.headers) ?? mint<RequestId>("req", clock.currentTimeMillisUnsafe())

  /** Runs until it is done or the client has gone. */
  const run = (effect: Effect.Effect<void>, client: ServerResponse | Duplex): void => {
    const fiber = Fiber.runIn(Effect.runForkWith(services)(effect), answering)
    client.once("close", () => fiber.interruptUnsafe())
  }

  server.on("request", (request: IncomingMessage, response: ServerResponse) => {
    const id = requestId(request)
    for (const [name, value] of Object.entries({
      ...standardHeaders(id),
      ...protection(port, source.kind)
    })) {
      response.setHeader(name, value)
    }
    const admission = admit(request, port, gate, clock.currentTimeMillisUnsafe())
    switch (admission._tag) {
      case "Refuse":
        return refuse(response, admission, id)
      case "Enter":
        return enter(response, admission.setCookie)
      case "Pass":
        return run(source.serve({ request, response, requestId: id }, port), response)
    }
  })

  server.on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    socket.on("error", () => undefined)
    const id = requestId(request)
    const admission = admit(request, port, gate, clock.currentTimeMillisUnsafe())
    if (admission._tag === "Refuse") return refuseUpgrade(socket, admission, id)
    // A ticket opens a page, not a socket.
    if (admission._tag === "Enter") return refuseUpgrade(socket, { code: "unauthorized" }, id)
    return run(source.upgrade({ request, socket, head, requestId: id }, port), socket)
  })

  return port
})
