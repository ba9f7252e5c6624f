/**
 * Connections to a port of this machine, over IPv4 or IPv6, and bytes carried between two sockets at the pace of the slower one. No request can
 * reach other hosts.
 */
import { Data, Effect, type Scope } from "effect"
import { connect, type Socket } from "node:net"
import type { Duplex } from "node:stream"

/** Port without a listener. */
export class Unreachable extends Data.TaggedError("Unreachable")<{}> {}

const CONNECT_WITHIN = "5 seconds"

const connectTo = (host: string, port: number): Effect.Effect<Socket, Unreachable> =>
  Effect.callback<Socket, Unreachable>((resume) => {
    const socket = connect({ host, port, noDelay: true })
    const refused = () => resume(Effect.fail(new Unreachable()))
    socket.once("error", refused)
    socket.once("connect", () => {
      socket.off("error", refused)
      // If no program listens, the system may assign the same port to the client, which then connects to itself.
      if (socket.localPort === socket.remotePort) {
        socket.destroy()
        return refused()
      }
      socket.on("error", () => undefined)
      return resume(Effect.succeed(socket))
    })
    return Effect.sync(() => void socket.destroy())
  }).pipe(Effect.timeoutOrElse({ duration: CONNECT_WITHIN, orElse: () => Effect.fail(new Unreachable()) }))

/** A connection that is destroyed with the scope. */
export const connectLoopback = (port: number): Effect.Effect<Socket, Unreachable, Scope.Scope> =>
  Effect.acquireRelease(
    connectTo("127.0.0.1", port).pipe(Effect.catch(() => connectTo("::1", port))),
    (socket) => Effect.sync(() => void socket.destroy())
  )

/** Connects two sockets. When one closes, the other closes too. */
export const carryBytes = (client: Duplex, upstream: Duplex): Effect.Effect<void> =>
  Effect.callback((resume) => {
    const end = () => resume(Effect.void)
    upstream.on("error", end)
    upstream.once("close", end)
    client.once("close", end)
    client.pipe(upstream)
    upstream.pipe(client)
    return Effect.void
  }).pipe(
    Effect.ensuring(
      Effect.sync(() => {
        upstream.destroy()
        client.destroy()
      })
    )
  )
