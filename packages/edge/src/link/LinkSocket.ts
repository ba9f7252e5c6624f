/**
 * WebSocket of one link and the calls over it, until the scope closes. Also the times of the link.
 *
 * Guarantees: when the socket closes, or the Hub is silent for too long, every call fails and `closed` has the reason.
 * Does not: reconnect.
 */
import { EdgeLink, MAX_FRAME_BYTES } from "@corral/domain/link/EdgeLink"
import { Deferred, Effect, Schedule } from "effect"
import { RpcClient, RpcSerialization } from "effect/rpc"
import { Socket } from "effect/socket"
import { WebSocket } from "ws"

// Times of the link, in milliseconds.

export interface LinkTimes {
  /** Ping interval, and the silence after which the link counts as broken. */
  readonly ping: number
  readonly silence: number
  /** Maximum delay before a reconnection: after the first failure, and after many. */
  readonly minDelay: number
  readonly maxDelay: number
  /** Minimum delay before a reconnection after another Edge connected as the device. Up to a third is added. */
  readonly fenced: number
  /** Interval between checks of the device file. */
  readonly look: number
  /** Time for the acknowledgement of a push. A Hub whose database does not answer in time ends the link sooner than this. */
  readonly acknowledge: number
  /** Time for a stopping Edge to push remaining events. */
  readonly goodbye: number
}

export const defaultTimes: LinkTimes = {
  ping: 5_000,
  silence: 10_000,
  minDelay: 200,
  maxDelay: 10_000,
  fenced: 30_000,
  look: 1_000,
  acknowledge: 90_000,
  goodbye: 1_500
}

const OPEN_MS = 10_000
/** Timeout of the closing handshake. */
const CLOSE_MS = 1_000

/** Maximum bytes in the send buffer: many times the largest answer. */
const MAX_BUFFERED = 16 * MAX_FRAME_BYTES

/** `code` is RFC 6455's, 1006 without one. `reason` is from the Hub or the system. */
export interface LinkClosed {
  readonly code: number
  readonly reason: string
}

/** `address` is the result of `linkAddressOf`. */
export const openLink = Effect.fnUntraced(function* (address: string, { ping, silence }: LinkTimes) {
  const closed = Deferred.makeUnsafe<LinkClosed>()
  let dialled: WebSocket | undefined
  const acquire = Effect.acquireRelease(
    Effect.sync(() => {
      const socket = new WebSocket(address, {
        maxPayload: MAX_FRAME_BYTES,
        perMessageDeflate: false,
        handshakeTimeout: OPEN_MS,
        followRedirects: false
      })
      dialled = socket
      let reason = ""
      socket.on("error", ({ message }) => (reason = message))
      socket.on("close", (code, closeReason) =>
        Deferred.doneUnsafe(closed, Effect.succeed({ code, reason: closeReason.toString() || reason }))
      )
      return socket
    }),
    (socket) =>
      Effect.suspend(() => {
        socket.close(1001)
        return Deferred.await(closed).pipe(
          Effect.timeoutOrElse({ duration: CLOSE_MS, orElse: () => Effect.sync(() => socket.terminate()) })
        )
      })
  )
  const socket = yield* Socket.fromWebSocket(acquire, { openTimeout: OPEN_MS })
  const protocol = yield* RpcClient.makeProtocolSocket({
    pingInterval: ping,
    pingTimeout: silence,
    retryPolicy: Schedule.recurs(0)
  }).pipe(Effect.provideService(Socket.Socket, socket), Effect.provide(RpcSerialization.layerJson))
  const calls = yield* RpcClient.make(EdgeLink, { disableTracing: true }).pipe(
    Effect.provideService(RpcClient.Protocol, protocol)
  )
  return {
    calls,
    closed: Deferred.await(closed),
    /** Whether the send buffer is larger than a Hub that reads would allow. */
    isCongested: () => (dialled?.bufferedAmount ?? 0) > MAX_BUFFERED
  }
})
