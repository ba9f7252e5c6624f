/**
 * All event stream sockets of a server: handshakes, pings, stall detection, and the end of all of them when the server stops.
 *
 * Does not: decide who may connect. The server admits a request before it passes it on.
 */
import type { RequestId } from "@corral/domain/identity/Ids"
import { Clock, Effect } from "effect"
import type { IncomingMessage } from "node:http"
import type { Duplex } from "node:stream"
import { WebSocketServer } from "ws"
import { standardHeaders } from "../http/Refusal.ts"
import { CurrentMetrics, type MetricRow } from "../telemetry/Metrics.ts"
import { EventSocket, LogReads } from "./EventSocket.ts"
import { StreamTimes } from "./StreamTimes.ts"

export interface SocketsOptions {
  /** Gauge of open sockets. */
  readonly metric: MetricRow
  /** Close reason when the server stops. */
  readonly stopReason: string
}

export interface Upgrade {
  readonly request: IncomingMessage
  readonly stream: Duplex
  readonly head: Buffer
}

export interface Sockets<E> {
  /** Completes the handshake. `serve` then follows logs with the socket. */
  readonly accept: (upgrade: Upgrade, endsWithRun: boolean, serve: (socket: EventSocket<E>) => void) => void
  /** Closes every socket with 1001. Succeeds when all are closed, by force after a second. */
  readonly closeAll: Effect.Effect<void>
}

/** Sockets that receive pings and stall checks until the scope closes. */
export const makeSockets = Effect.fnUntraced(function* <E>({ metric, stopReason }: SocketsOptions) {
  const clock = yield* Clock.Clock
  const metrics = yield* CurrentMetrics
  const times = yield* StreamTimes
  const now = () => clock.currentTimeMillisUnsafe()
  const reads = new LogReads(yield* Effect.context<never>())
  const open = new Set<EventSocket<E>>()
  const handshakes = handshakeServer()
  let onEmpty: (() => void) | undefined

  metrics.sample(Effect.sync(() => [[metric, open.size]]))
  yield* Effect.sync(() => open.forEach((socket) => socket.tick(times))).pipe(
    Effect.andThen(Effect.sleep("1 second")),
    Effect.forever,
    Effect.forkScoped
  )

  const sockets: Sockets<E> = {
    accept: ({ head, request, stream }, endsWithRun, serve) =>
      handshakes.handleUpgrade(request, stream, head, (webSocket) => {
        const socket = new EventSocket<E>(now, reads, { socket: webSocket, stream, endsWithRun })
        open.add(socket)
        webSocket.once("close", () => {
          socket.release()
          open.delete(socket)
          if (open.size === 0) onEmpty?.()
        })
        serve(socket)
      }),
    closeAll: Effect.callback<void>((resume) => {
      if (open.size === 0) return resume(Effect.void)
      onEmpty = () => resume(Effect.void)
      open.forEach((socket) => socket.end(GOING_AWAY, stopReason))
    }).pipe(
      Effect.timeoutOption("1 second"),
      Effect.andThen(Effect.sync(() => open.forEach((socket) => socket.terminate())))
    )
  }
  return sockets
})

/** RFC 6455: the server goes down. */
const GOING_AWAY = 1001
/** Clients send no data frames: pongs and close frames are small. */
const MAX_PAYLOAD_BYTES = 4_096

const handshakeServer = (): WebSocketServer => {
  const handshakes = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    maxPayload: MAX_PAYLOAD_BYTES
  })
  handshakes.on("headers", (headers, request) => {
    // The listener has set the request id.
    const id = request.headers["x-request-id"] as RequestId
    for (const [name, value] of Object.entries(standardHeaders(id))) headers.push(`${name}: ${value}`)
  })
  return handshakes
}
