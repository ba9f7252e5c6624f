/** RPC server of one link. It starts and ends with its socket, so a failure never reaches another link. */
import { EdgeLink } from "@corral/domain/link/EdgeLink"
import { Deferred, Effect } from "effect"
import { NetAddress } from "effect/net"
import { RpcSerialization, RpcServer } from "effect/rpc"
import { Socket, SocketServer } from "effect/socket"
import type { WebSocket } from "ws"
import type { LinkConnection } from "./LinkConnection.ts"

/** Serves the calls of the socket until it ends. */
export const serveLinkRpc = (webSocket: WebSocket, connection: LinkConnection): Effect.Effect<void> =>
  Effect.gen(function* () {
    // `ws` has every member of a WebSocket that the library uses, under the same names.
    const socket = yield* Socket.fromWebSocket(Effect.succeed(webSocket as unknown as Socket.WebSocketLike))
    const ended = yield* Deferred.make<void>()
    const protocol = yield* RpcServer.makeProtocolSocketServer.pipe(
      Effect.provideService(SocketServer.SocketServer, singleSocketServer(socket, ended)),
      Effect.provideService(RpcSerialization.RpcSerialization, RpcSerialization.json)
    )
    const handlers = yield* EdgeLink.toHandlers(connection.handlers)
    yield* RpcServer.make(EdgeLink, { disableTracing: true, disableFatalDefects: true }).pipe(
      Effect.provideService(RpcServer.Protocol, protocol),
      Effect.provideContext(handlers),
      Effect.forkScoped
    )
    yield* Deferred.await(ended)
  }).pipe(Effect.scoped, Effect.ensuring(Effect.sync(() => webSocket.close(PROTOCOL_ERROR))))

/** Placeholder: the Hub's HTTP server has accepted the connection. */
const NO_ADDRESS = NetAddress.inetAddressUnsafe(NetAddress.ipv4Unspecified, 0)

/** A socket server with exactly one socket. */
const singleSocketServer = (socket: Socket.Socket, ended: Deferred.Deferred<void>) =>
  SocketServer.SocketServer.of({
    address: NO_ADDRESS,
    run: (handler) =>
      Effect.exit(handler(socket)).pipe(
        Effect.andThen(Deferred.succeed(ended, undefined)),
        Effect.andThen(Effect.never)
      )
  })

/** RFC 6455: protocol error. Has no effect on a closed socket. */
const PROTOCOL_ERROR = 1002
