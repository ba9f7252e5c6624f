/** The RPC server of one link: made for its socket, and gone with it, so that what breaks it breaks no other. */
import { EdgeLink } from "@corral/domain/link/EdgeLink"
import { Deferred, Effect } from "effect"
import { NetAddress } from "effect/net"
import { RpcSerialization, RpcServer } from "effect/rpc"
import { Socket, SocketServer } from "effect/socket"
import type { WebSocket } from "ws"
import type { LinkConnection } from "./LinkConnection.ts"

/** Answers what comes over the socket, until that ends. */
export const serveLinkRpc = (webSocket: WebSocket, connection: LinkConnection): Effect.Effect<void> =>
  Effect.gen(function* () {
    // What the library's reader and writer use of a WebSocket, `ws` has under the same names.
    const socket = yield* Socket.fromWebSocket(Effect.succeed(webSocket as unknown as Socket.WebSocketLike))
    const over = yield* Deferred.make<void>()
    const protocol = yield* RpcServer.makeProtocolSocketServer.pipe(
      Effect.provideService(SocketServer.SocketServer, theOne(socket, over)),
      Effect.provideService(RpcSerialization.RpcSerialization, RpcSerialization.json)
    )
    const handlers = yield* EdgeLink.toHandlers(connection.handlers)
    yield* RpcServer.make(EdgeLink, { disableTracing: true, disableFatalDefects: true }).pipe(
      Effect.provideService(RpcServer.Protocol, protocol),
      Effect.provideContext(handlers),
      Effect.forkScoped
    )
    yield* Deferred.await(over)
  }).pipe(Effect.scoped, Effect.ensuring(Effect.sync(() => webSocket.close(GARBAGE))))

/** It listens nowhere: the Hub's own server has taken the connection. */
const NOWHERE = NetAddress.inetAddressUnsafe(NetAddress.ipv4Unspecified, 0)

/** A server that has this socket and no other. */
const theOne = (socket: Socket.Socket, over: Deferred.Deferred<void>) =>
  SocketServer.SocketServer.of({
    address: NOWHERE,
    run: (handler) =>
      Effect.exit(handler(socket)).pipe(
        Effect.andThen(Deferred.succeed(over, undefined)),
        Effect.andThen(Effect.never)
      )
  })

/** RFC 6455: what came was no message of the protocol. Not heard where the socket is closed already. */
const GARBAGE = 1002
