/**
 * What the probe's program tries to reach on this machine: servers on loopback addresses and sockets, and a process. All belong to the probe
 * and end with the scope.
 */
import { Effect, type Scope } from "effect"
import { spawn } from "node:child_process"
import { randomUUID } from "node:crypto"
import { createSocket } from "node:dgram"
import { readlinkSync } from "node:fs"
import { type AddressInfo, createServer, type ListenOptions } from "node:net"
import type { HostServers } from "./NetworkAttempts.ts"
import type { HostProcess } from "./RightsAttempts.ts"

export interface EscapeServers {
  readonly servers: HostServers
  readonly host: HostProcess
  /** Connections and packets that arrived so far. */
  readonly arrivals: () => number
  /** Counts one more. */
  readonly arrive: () => void
}

/** Port of nothing, where this machine has no IPv6. */
const NO_PORT = 1

const portOf = (address: AddressInfo | string | null): number =>
  typeof address === "object" && address !== null ? address.port : NO_PORT

const listen = (
  options: ListenOptions,
  onArrival: () => void
): Effect.Effect<number, string, Scope.Scope> => {
  const server = createServer((socket) => {
    onArrival()
    socket.on("error", () => undefined)
    socket.end("reached")
  })
  const started = Effect.callback<number, string>((resume) => {
    server.once("error", (error) => resume(Effect.fail(String(error))))
    server.listen(options, () => resume(Effect.succeed(portOf(server.address()))))
  })
  return Effect.acquireRelease(started, () => Effect.sync(() => void server.close()))
}

const listenUdp = (onArrival: () => void): Effect.Effect<number, string, Scope.Scope> => {
  const server = createSocket("udp4", (_, from) => {
    onArrival()
    server.send("reached", from.port, from.address)
  })
  const started = Effect.callback<number, string>((resume) => {
    server.once("error", (error) => resume(Effect.fail(String(error))))
    server.bind(0, "127.0.0.1", () => resume(Effect.succeed(server.address().port)))
  })
  return Effect.acquireRelease(started, () => Effect.sync(() => void server.close()))
}

/** A shell that waits for its stdin, which ends with this process. */
const startProcess: Effect.Effect<HostProcess, string, Scope.Scope> = Effect.acquireRelease(
  Effect.sync(() => {
    const word = randomUUID()
    const child = spawn("/bin/sh", ["-c", "read -r _; exit 0", word], { stdio: ["pipe", "ignore", "ignore"] })
    child.on("error", () => undefined)
    child.stdin.on("error", () => undefined)
    return { child, word }
  }),
  ({ child }) => Effect.sync(() => void child.kill("SIGKILL"))
).pipe(
  Effect.flatMap(({ child: { pid }, word }) =>
    pid === undefined ? Effect.fail("/bin/sh does not start") : Effect.succeed({ pid, word })
  )
)

/** Starts them. `socket`: path of the socket file. */
export const openServers = Effect.fnUntraced(function* (
  socket: string
): Effect.fn.Return<EscapeServers, string, Scope.Scope> {
  let arrivals = 0
  const count = () => void arrivals++
  const abstract = `corral-probe-${randomUUID()}`
  const tcp4 = yield* listen({ port: 0, host: "127.0.0.1" }, count)
  const tcp6 = yield* Effect.orElseSucceed(listen({ port: 0, host: "::1" }, count), () => NO_PORT)
  const udp = yield* listenUdp(count)
  yield* listen({ path: `\0${abstract}` }, count)
  yield* listen({ path: socket }, count)
  return {
    servers: { ports: { tcp4, tcp6, udp }, abstract, hostNetwork: readlinkSync("/proc/self/ns/net") },
    host: yield* startProcess,
    arrivals: () => arrivals,
    arrive: count
  }
})
