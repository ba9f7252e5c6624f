/**
 * Connections from the Edge to loopback ports inside the network of one confined run. The bridge of the run (`NetworkBridge`) receives a
 * command for each connection, and connects the port to a socket that exists for this connection only.
 *
 * Guarantees: no path that the run can change is opened: the Edge listens, and the run's side connects. A connection has one socket, which
 * accepts once. Connections end with the process of the bridge. Bytes from the bridge are bounded, and mean nothing except a refusal.
 *
 * Does not: prove that the program of the port answers. The run could answer itself, and owns that port anyway.
 */
import { Effect, type Scope } from "effect"
import { createServer, type Socket } from "node:net"
import { join } from "node:path"
import type { Duplex } from "node:stream"
import { Unreachable } from "../preview/Loopback.ts"

/** Connections of one run. More are refused. */
const MAX_CONNECTIONS = 128
const WITHIN = "5 seconds"
/** Longest name of a socket in an answer. */
const MAX_LINE = 32

/** The port as the kernel's list of sockets has it. */
export const hexPort = (port: number): string => port.toString(16).toUpperCase().padStart(4, "0")

export class PortRelay {
  readonly #folder: string
  readonly #open = new Set<Duplex>()
  /** Refuses a connection that waits, by the name of its socket. */
  readonly #waiting = new Map<string, () => void>()
  #channel: Duplex | undefined
  #count = 0
  #line = ""

  /** `folder` is where the run's side finds the sockets. */
  constructor(folder: string) {
    this.#folder = folder
  }

  /** Starts with the descriptor of the bridge. */
  readonly attach = (channel: Duplex): void => {
    this.#channel = channel
    channel.on("error", () => undefined)
    channel.on("data", (chunk: Buffer) => this.#receive(chunk.toString("latin1")))
    channel.once("close", () => this.close())
  }

  /** A connection that is destroyed with the scope. */
  connect(port: number): Effect.Effect<Socket, Unreachable, Scope.Scope> {
    const connection = Effect.callback<Socket, Unreachable>((resume) => {
      const channel = this.#channel
      const refuse = () => resume(Effect.fail(new Unreachable()))
      if (channel === undefined || this.#open.size + this.#waiting.size >= MAX_CONNECTIONS) return refuse()
      const name = `port${this.#count++}`
      const server = createServer((socket) => {
        this.#track(socket)
        resume(Effect.succeed(socket))
        settle()
      })
      const settle = () => {
        this.#waiting.delete(name)
        server.close()
      }
      this.#waiting.set(name, () => {
        settle()
        refuse()
      })
      server.maxConnections = 1
      server.once("error", () => this.#waiting.get(name)?.())
      server.listen(join(this.#folder, name), () => channel.write(`${name} ${port} ${hexPort(port)}\n`))
      return Effect.sync(settle)
    }).pipe(Effect.timeoutOrElse({ duration: WITHIN, orElse: () => Effect.fail(new Unreachable()) }))
    return Effect.acquireRelease(connection, (socket) => Effect.sync(() => void socket.destroy()), {
      interruptible: true
    })
  }

  /** Ends all connections. No further one is made. */
  close(): void {
    this.#channel = undefined
    for (const refuse of this.#waiting.values()) refuse()
    for (const socket of this.#open) socket.destroy()
  }

  #track(socket: Socket): void {
    socket.setNoDelay(true)
    socket.on("error", () => undefined)
    socket.once("close", () => this.#open.delete(socket))
    this.#open.add(socket)
  }

  #receive(text: string): void {
    const lines = (this.#line + text).split("\n")
    this.#line = (lines.pop() ?? "").slice(-MAX_LINE)
    for (const line of lines) this.#waiting.get(line)?.()
  }
}
