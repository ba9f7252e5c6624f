/**
 * HTTP proxy of one confined run, on a unix socket that only this run sees, or on a port for which only this run has the credentials: CONNECT,
 * and requests with an `http` address.
 *
 * Guarantees: each connection and each request is decided. The address that was judged is the one that is connected to. Both directions are
 * streamed at the pace of the slower side. A refusal is a response with an error object. Everything ends with the scope.
 *
 * Does not: read what a tunnel carries.
 */
import type { RequestId } from "@corral/domain/identity/Ids"
import { refuseRequest, refuseUpgrade } from "@corral/service/http/Refusal"
import { mint } from "@corral/service/Identifiers"
import { Clock, Data, Effect, FiberSet, type Scope } from "effect"
import { createServer, type IncomingMessage, request as httpRequest, type ServerResponse } from "node:http"
import { isIP, type ListenOptions, type Socket } from "node:net"
import type { Duplex } from "node:stream"
import { pipeline } from "node:stream/promises"
import { carryBytes } from "../preview/CarriedBytes.ts"
import { hopByHop, withoutHeaders } from "../preview/ProxyHeaders.ts"
import type { HostPermission } from "./HostDecisions.ts"
import type { NetworkAccess } from "./NetworkAccess.ts"
import { reachableAddresses } from "./NetworkDecision.ts"
import { networkRefusal, type RefusalReason } from "./NetworkRefusal.ts"
import { type NetworkTarget, targetOfAuthority, targetOfUrl } from "./NetworkTarget.ts"
import { type ProxyCredentials, refuseStranger } from "./ProxyCredentials.ts"
import { listening } from "./UnixListener.ts"

export interface RunProxyOptions {
  readonly access: NetworkAccess
  readonly permissionFor: (target: NetworkTarget) => Effect.Effect<HostPermission>
  readonly onRefused: (reason: RefusalReason, target: NetworkTarget | undefined) => void
  /** Of a proxy on a port, which other programs reach, too. */
  readonly credentials?: ProxyCredentials | undefined
}

/** Connections of one run. More are closed. */
export const MAX_CONNECTIONS = 128
const MAX_HEAD_BYTES = 16_384
const HEAD_WITHIN_MS = 10_000
/** A tunnel without a byte in either direction. Models think for minutes. */
const IDLE_MS = 1_800_000

class ConnectionRefused extends Data.TaggedError("ConnectionRefused")<{
  readonly reason: RefusalReason
  readonly target: NetworkTarget | undefined
}> {}

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

/** A connection to the target, if it is allowed. */
const open = Effect.fnUntraced(function* (
  { access, permissionFor }: RunProxyOptions,
  target: NetworkTarget | undefined
): Effect.fn.Return<Socket, ConnectionRefused, Scope.Scope> {
  const refuse = (reason: RefusalReason) => new ConnectionRefused({ reason, target })
  if (target === undefined) return yield* refuse("malformed")
  const permission = yield* permissionFor(target)
  if (permission._tag === "Refused") return yield* refuse(permission.reason)
  const connection = Effect.gen(function* () {
    const addresses = isIP(target.host) === 0 ? yield* access.resolve(target.host) : [target.host]
    const reachable = reachableAddresses(target, permission.reach, addresses, access.ownAddresses())
    return reachable.length === 0 ? undefined : yield* access.connect(reachable, target.port)
  })
  const socket = yield* Effect.mapError(connection, ({ reason }) => refuse(reason))
  return socket ?? (yield* refuse("local_address"))
})

const tunnel = (
  options: RunProxyOptions,
  { url = "" }: IncomingMessage,
  client: Duplex,
  head: Buffer,
  id: RequestId
): Effect.Effect<void> =>
  Effect.gen(function* () {
    const upstream = yield* open(options, targetOfAuthority(url))
    client.write("HTTP/1.1 200 Connection Established\r\n\r\n")
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
): Effect.Effect<void> =>
  Effect.gen(function* () {
    const target = targetOfUrl(request.url ?? "")
    const upstream = yield* open(options, target && { host: target.host, port: target.port })
    const answer = yield* exchange(upstream, request, target?.path ?? "/", target?.authority ?? "")
    if (answer === undefined) return yield* new ConnectionRefused({ reason: "unreachable", target })
    yield* Effect.tryPromise(async (signal) => {
      response.writeHead(answer.statusCode ?? 502, withoutHeaders(answer.headers, hopByHop))
      await pipeline(answer, response, { signal })
    }).pipe(Effect.catch(() => Effect.sync(() => void response.destroy())))
  }).pipe(
    Effect.scoped,
    Effect.catchTag("ConnectionRefused", ({ reason, target }) =>
      Effect.sync(() => {
        options.onRefused(reason, target)
        refuseRequest(response, networkRefusal(reason, target), id)
      })
    ),
    Effect.onInterrupt(() => Effect.sync(() => void response.destroy()))
  )

/** Sends the request. Succeeds as soon as the response starts; with `undefined` if none does. */
const exchange = (
  socket: Socket,
  request: IncomingMessage,
  path: string,
  authority: string
): Effect.Effect<IncomingMessage | undefined> =>
  Effect.callback((resume) => {
    const { headers, method } = request
    const upstream = httpRequest({
      createConnection: () => socket,
      method,
      path,
      setHost: false,
      headers: {
        ...withoutHeaders(headers, hopByHop, ["expect", "host"]),
        // A body of unknown length has no other end.
        ...(headers["transfer-encoding"] === undefined ? {} : { "transfer-encoding": "chunked" }),
        host: authority,
        connection: "close"
      }
    })
    upstream.once("response", (answer) => resume(Effect.succeed(answer)))
    upstream.once("upgrade", () => resume(Effect.undefined))
    upstream.on("error", () => resume(Effect.undefined))
    request.once("error", () => upstream.destroy())
    request.pipe(upstream)
    return Effect.sync(() => void upstream.destroy())
  })
