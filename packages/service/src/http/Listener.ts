/**
 * A Node server whose requests and upgrades all pass the same door: limits of time and size, a request id, the standing headers, then
 * whatever `passage` decides; only then anything is routed. What is refused is an error object. Behind that door is also `GET /metrics`.
 */
import { STALLED_AFTER_SECONDS } from "@corral/domain/http/EventStream"
import type { RequestId } from "@corral/domain/identity/Ids"
import { Clock, Data, Effect, type Scope } from "effect"
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse
} from "node:http"
import type { AddressInfo } from "node:net"
import type { Duplex } from "node:stream"
import { mint } from "../Identifiers.ts"
import { isMetricsPage, serveMetricsPage } from "./MetricsPage.ts"
import { CurrentMetrics } from "../telemetry/Metrics.ts"
import { requestWatch } from "./RequestWatch.ts"
import { MetricsToken } from "../telemetry/Telemetry.ts"
import { CurrentTraces } from "../telemetry/Traces.ts"
import { answerClientErrors } from "./ClientErrors.ts"
import { handshakeFlaw } from "./Handshake.ts"
import { type HttpRefusal, refuseRequest, refuseUpgrade, standardHeaders } from "./Refusal.ts"
import { sentRequestId } from "./RequestId.ts"
import { dropStalledResponses } from "./StalledResponses.ts"

/** The address is taken, or not of this machine. */
export class ListenFailed extends Data.TaggedError("ListenFailed")<{ readonly message: string }> {}

export type RequestAuthorization =
  /** `headers` replace the client's headers of the same name. */
  | { readonly _tag: "Pass"; readonly headers?: Readonly<Record<string, string>> }
  | ({ readonly _tag: "Refuse" } & HttpRefusal)

export interface ConnectionHandlers {
  /** Templates of the paths that are served, for metrics and spans. */
  readonly paths: Iterable<string>
  readonly authorizeRequest: (request: IncomingMessage, upgrade: boolean) => RequestAuthorization
  readonly onRequest: (request: IncomingMessage, response: ServerResponse) => void
  readonly onUpgrade: (request: IncomingMessage, socket: Duplex, head: Buffer, requestId: RequestId) => void
}

/** The caller's correlation id where it is a good one. */
export const requestIdOf = (headers: IncomingHttpHeaders): RequestId | undefined =>
  sentRequestId(headers["x-request-id"])

/** Listens until the scope closes and gives the port; `doors` is asked for once that is known. */
export const listen = Effect.fnUntraced(function* (
  address: { readonly host: string; readonly port: number },
  doors: (port: number) => ConnectionHandlers
): Effect.fn.Return<number, ListenFailed, Scope.Scope> {
  const clock = yield* Clock.Clock
  const server = createServer({
    maxHeaderSize: 16_384,
    headersTimeout: 5_000,
    requestTimeout: STALLED_AFTER_SECONDS * 1_000,
    // The door refuses what has no Host, with an error object.
    requireHostHeader: false,
    connectionsCheckingInterval: 2_500
  })
  const port = yield* open(server, address)
  const { onRequest, onUpgrade, authorizeRequest, paths } = doors(port)
  const metrics = yield* CurrentMetrics
  const watch = requestWatch(metrics, yield* CurrentTraces, paths)
  const page = serveMetricsPage(metrics, yield* MetricsToken)
  const fresh = () => mint<RequestId>("req", clock.currentTimeMillisUnsafe())

  /** What the routes read: never what a client claimed. */
  const put = (request: IncomingMessage, id: RequestId, headers: Readonly<Record<string, string>> = {}) => {
    request.headers["x-request-id"] = id
    Object.assign(request.headers, headers)
  }

  answerClientErrors(server, (request) => requestIdOf(request?.headers ?? {}) ?? fresh())
  dropStalledResponses(server, () => clock.currentTimeMillisUnsafe())
  server.on("request", (request, response) => {
    watch.onRequest(request, response)
    const id = requestIdOf(request.headers) ?? fresh()
    for (const [name, value] of Object.entries(standardHeaders(id))) response.setHeader(name, value)
    const found = authorizeRequest(request, false)
    if (found._tag === "Refuse") return refuseRequest(response, found, id)
    put(request, id, found.headers)
    watch.onPassed(request, response)
    if (isMetricsPage(request.url)) return page(request, response)
    onRequest(request, response)
  })

  server.on("upgrade", (request, socket, head) => {
    socket.on("error", () => undefined)
    const id = requestIdOf(request.headers) ?? fresh()
    const found = authorizeRequest(request, true)
    if (found._tag === "Refuse") return refuseUpgrade(socket, found, id)
    put(request, id, found.headers)
    const flaw = handshakeFlaw(request)
    if (flaw !== undefined) return refuseUpgrade(socket, flaw, id)
    onUpgrade(request, socket, head, id)
  })

  return port
})

/**
 * Connections that the system holds until they are accepted; it may allow fewer. With Node's own 511, two thousand that come at once overflow
 * it: the system then drops what they send, and they wait a second or more for having it sent again.
 */
const BACKLOG = 4_096

const open = (
  server: Server,
  { host, port }: { readonly host: string; readonly port: number }
): Effect.Effect<number, ListenFailed, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.callback<number, ListenFailed>((resume) => {
      server.once("error", (error) => resume(Effect.fail(new ListenFailed({ message: error.message }))))
      server.listen({ host, port, backlog: BACKLOG }, () =>
        resume(Effect.succeed((server.address() as AddressInfo).port))
      )
    }),
    () =>
      Effect.callback<void>((resume) => {
        server.close(() => resume(Effect.void))
        server.closeIdleConnections()
        // Answers that are being written get a moment; readers that hang do not get more.
        setTimeout(() => server.closeAllConnections(), 500).unref()
      })
  )

/** `http://127.0.0.1:8080`, with the brackets that an IPv6 address needs. */
export const urlOf = (host: string, port: number): string =>
  `http://${host.includes(":") ? `[${host}]` : host}:${port}`
