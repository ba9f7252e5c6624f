/**
 * HTTP proxy of one confined run, on a unix socket that only this run sees, or on a port for which only this run has the credentials: CONNECT, and
 * requests with an `http` address.
 *
 * Guarantees: each connection and each request is decided. The address that was judged is the one that is connected to. Both directions are
 * streamed at the pace of the slower side. A refusal is a response with an error object. Everything ends with the scope.
 *
 * Does not: read what a tunnel carries, except to the services of the run's keys (`KeyProxy`).
 */
import { carryBytes } from "../preview/Loopback.ts"
import { hopByHop, withoutHeaders } from "../preview/ProxyHeaders.ts"
import {
  ConnectionRefused,
  connectTarget,
  exchangeHttp,
  orRefused,
  type ProxyConnectionOptions,
  type ProxyCredentials,
  refuseStranger
} from "./ProxyConnection.ts"
import type { KeyProxy } from "./KeyProxy.ts"
import { networkRefusal } from "./HostDecisions.ts"
import { targetOfAuthority, targetOfUrl } from "./NetworkTarget.ts"
import type { RequestId } from "@corral/domain/identity/Ids"
import { refuseUpgrade } from "@corral/service/http/Refusal"
import { mint } from "@corral/service/Identifiers"
import { Clock, Effect, FiberSet, type Scope } from "effect"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { ListenOptions, Server, Socket } from "node:net"
import type { Duplex } from "node:stream"
import { pipeline } from "node:stream/promises"

/** Listens until the scope closes. Fails with the system's message. */
export const listening = (
  server: Server,
  at: string | ListenOptions
): Effect.Effect<void, string, Scope.Scope> =>
  Effect.asVoid(
    Effect.acquireRelease(
      Effect.callback<Server, string>((resume) => {
        server.once("error", (error) => resume(Effect.fail(String(error))))
        server.listen(typeof at === "string" ? { path: at } : at, () => resume(Effect.succeed(server)))
      }),
      (started) =>
        Effect.sync(() => {
          started.close()
          if ("closeAllConnections" in started && typeof started.closeAllConnections === "function")
            started.closeAllConnections()
        })
    )
  )

interface RunProxyOptions extends ProxyConnectionOptions {
  /** Connections that the proxy reads. */
  readonly keyed?: KeyProxy | undefined
  /** Of a proxy on a port, which other programs reach, too. */
  readonly credentials?: ProxyCredentials | undefined
}

/** Connections of one run. More are closed. */
export const MAX_CONNECTIONS = 128
const MAX_HEAD_BYTES = 16_384
const HEAD_WITHIN_MS = 10_000
/** A tunnel without a byte in either direction. Models think for minutes. */
const IDLE_MS = 1_800_000
const ESTABLISHED = "HTTP/1.1 200 Connection Established\r\n\r\n"

/** Serves on the socket or port until the scope closes. Gives the port. */
export const serveRunProxy = Effect.fnUntraced(function* (
  at: string | ListenOptions,
  options: RunProxyOptions
) {
  const fork = yield* FiberSet.makeRuntime<never, void, never>()
  const clock = yield* Clock.Clock
  const newId = () => mint<RequestId>("req", clock.currentTimeMillisUnsafe())
  const server = createServer({
    maxHeaderSize: MAX_HEAD_BYTES,
    headersTimeout: HEAD_WITHIN_MS,
    connectionsCheckingInterval: HEAD_WITHIN_MS / 2,
    // A long upload is not a late request.
    requestTimeout: 0,
    requireHostHeader: false,
    noDelay: true
  })
  server.maxConnections = MAX_CONNECTIONS
  server.on("connection", (socket: Socket) => {
    socket.on("error", () => undefined)
    socket.setTimeout(IDLE_MS, () => socket.destroy())
  })
  const isStranger = ({ headers }: IncomingMessage) => options.credentials?.admits(headers) === false
  server.on("connect", (request, client, head) => {
    if (isStranger(request)) return refuseStranger(client)
    fork(tunnel(options, request, client, head, newId()))
  })
  server.on("request", (request, response) => {
    if (isStranger(request)) return refuseStranger(request.socket)
    fork(forward(options, request, response, newId()))
  })
  yield* listening(server, at)
  const address = server.address()
  return typeof address === "object" ? address?.port : undefined
})

const tunnel = (
  options: RunProxyOptions,
  { url = "" }: IncomingMessage,
  client: Duplex,
  head: Buffer,
  id: RequestId
): Effect.Effect<void> =>
  Effect.gen(function* () {
    const target = targetOfAuthority(url)
    const service = target && options.keyed?.serviceAt(target)
    if (service !== undefined) {
      client.write(ESTABLISHED)
      if (head.length > 0) client.unshift(head)
      return yield* options.keyed?.serve(service, client) ?? Effect.void
    }
    const upstream = yield* connectTarget(options, target)
    client.write(ESTABLISHED)
    if (head.length > 0) upstream.write(head)
    yield* carryBytes(client, upstream)
  }).pipe(
    Effect.scoped,
    Effect.catchTag("ConnectionRefused", ({ reason, target }) =>
      Effect.sync(() => {
        options.onRefused(reason, target)
        refuseUpgrade(client, networkRefusal(reason, target), id)
        // The client may send more, or nothing. Its end is not seen without reading.
        client.once("finish", () => client.destroy()).resume()
      })
    ),
    Effect.onInterrupt(() => Effect.sync(() => void client.destroy()))
  )

const forward = (
  options: RunProxyOptions,
  request: IncomingMessage,
  response: ServerResponse,
  id: RequestId
): Effect.Effect<void> => {
  const target = targetOfUrl(request.url ?? "")
  const { keyed } = options
  const service = target && keyed?.serviceAt(target)
  // A key for HTTPS is never in a request without TLS.
  if (keyed !== undefined && target !== undefined && service?.isSecure === false)
    return keyed.forward(service, target.path, request, response, id)
  const exchange = Effect.gen(function* () {
    const upstream = yield* connectTarget(options, target && { host: target.host, port: target.port })
    const answer = yield* exchangeHttp(upstream, request, {
      path: target?.path ?? "/",
      authority: target?.authority ?? ""
    })
    if (answer === undefined) return yield* new ConnectionRefused({ reason: "unreachable", target })
    yield* Effect.tryPromise(async (signal) => {
      response.writeHead(answer.statusCode ?? 502, withoutHeaders(answer.headers, hopByHop))
      await pipeline(answer, response, { signal })
    }).pipe(Effect.catch(() => Effect.sync(() => void response.destroy())))
  })
  return orRefused(options, response, id, exchange)
}
