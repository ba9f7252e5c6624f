/**
 * One dialled link: a WebSocket to a Hub and the calls over it, there until the scope closes.
 *
 * It never dials again by itself: when the socket is gone, or the Hub has answered nothing for too long, every call fails, and `closed`
 * says how it went.
 */
import { EdgeLink, MAX_FRAME_BYTES } from "@corral/domain/link/EdgeLink"
import { Deferred, Effect, Schedule } from "effect"
import { RpcClient, RpcSerialization } from "effect/rpc"
import { Socket } from "effect/socket"
import { WebSocket } from "ws"
import type { LinkTimes } from "./LinkTimes.ts"

const OPEN_MS = 10_000
/** How long a closing handshake is waited for. */
const CLOSE_MS = 1_000

/** Bytes that may wait for a Hub that does not read: many of the largest answers. */
const MAX_BUFFERED = 16 * MAX_FRAME_BYTES

/** `code` of RFC 6455, 1006 where there was none; `reason` is what the Hub said of it, or the system. */
export interface LinkClosed {
  readonly code: number
  readonly reason: string
}

/** `address` is what `linkAddressOf` gave. */
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
      socket.on("close", (code, said) =>
        Deferred.doneUnsafe(closed, Effect.succeed({ code, reason: said.toString() || reason }))
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
  const calls = yield* RpcClient.make(EdgeLink).pipe(Effect.provideService(RpcClient.Protocol, protocol))
  return {
    calls,
    closed: Deferred.await(closed),
    /** Whether more waits to be sent than a Hub that reads lets pile up. */
    isCongested: () => (dialled?.bufferedAmount ?? 0) > MAX_BUFFERED
  }
})
