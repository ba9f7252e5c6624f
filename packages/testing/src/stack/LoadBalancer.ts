/**
 * Load balancer of Hubs: a loopback address that forwards bytes to one of them, and misbehaves on request.
 */
import { createServer, connect, type AddressInfo, type Server, type Socket } from "node:net"
import { once } from "node:events"

interface Pair {
  readonly inside: Socket
  readonly outside: Socket
}

const SLOW_MS = 40
const SLOW_BYTES = 4_096

export class LoadBalancer {
  private readonly server: Server
  private readonly pairs = new Set<Pair>()
  /** Whether bytes are forwarded slowly. */
  slow = false
  private turn = 0
  private thawed: PromiseWithResolvers<void> | undefined
  /** Connections that were accepted while nothing is forwarded. */
  private readonly accepted = new Set<Socket>()
  /** Ports of the Hubs. A Hub that refuses connections is skipped. */
  ports: ReadonlyArray<number> = []
  /** Total number of forwarded connections. */
  carried = 0
  /** Total number of connections that were ended because no Hub accepted them. */
  refused = 0

  static async open(): Promise<LoadBalancer> {
    const server = createServer({ allowHalfOpen: false, noDelay: true })
    server.listen(0, "127.0.0.1")
    await once(server, "listening")
    return new LoadBalancer(server)
  }

  private constructor(server: Server) {
    this.server = server
    server.on("connection", (outside) => {
      outside.on("error", () => undefined)
      void this.accept(outside)
    })
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}` // it listens on TCP
  }

  /** Ends all connections. */
  cut(): void {
    for (const { inside, outside } of this.pairs) {
      inside.destroy()
      outside.destroy()
    }
  }

  /** Keeps open connections without forwarding anything. New connections are forwarded. */
  halfOpen(): void {
    for (const { inside, outside } of this.pairs)
      for (const socket of [inside, outside]) {
        socket.removeAllListeners("data").removeAllListeners("close").resume()
        socket.once("close", () => socket.destroy())
      }
  }

  /** Accepts connections and forwards nothing. All connections stay open, as over a network that loses everything. */
  freeze(): void {
    this.thawed ??= Promise.withResolvers()
    for (const { inside, outside } of this.pairs) for (const socket of [inside, outside]) socket.pause()
  }

  /** Forwards again, also what was sent while frozen. */
  thaw(): void {
    this.thawed?.resolve()
    this.thawed = undefined
    for (const { inside, outside } of this.pairs) for (const socket of [inside, outside]) socket.resume()
  }

  async close(): Promise<void> {
    this.cut()
    for (const outside of this.accepted) outside.destroy()
    this.server.close()
    await once(this.server, "close")
  }

  private async accept(outside: Socket): Promise<void> {
    this.accepted.add(outside)
    outside.once("close", () => this.accepted.delete(outside))
    outside.pause()
    await this.thawed?.promise
    this.accepted.delete(outside)
    await this.carry(outside)
  }

  private async carry(outside: Socket): Promise<void> {
    const inside = await this.reach()
    if (inside === undefined || outside.destroyed) {
      this.refused++
      inside?.destroy()
      outside.destroy()
      return
    }
    const pair = { inside, outside }
    this.pairs.add(pair)
    this.carried++
    this.pass(outside, inside)
    this.pass(inside, outside)
    for (const socket of [inside, outside])
      socket.once("close", () => {
        this.pairs.delete(pair)
        inside.destroy()
        outside.destroy()
      })
    if (this.thawed === undefined) outside.resume()
    else inside.pause()
  }

  private async reach(): Promise<Socket | undefined> {
    for (let tried = 0; tried < this.ports.length; tried++) {
      const port = this.ports[this.turn++ % this.ports.length]
      const socket = connect({ host: "127.0.0.1", port: port ?? 0, noDelay: true })
      const open = await new Promise<boolean>((resolve) => {
        socket.once("connect", () => resolve(true))
        socket.once("error", () => resolve(false))
      })
      socket.on("error", () => undefined)
      if (open) return socket
    }
    return undefined
  }

  private pass(from: Socket, to: Socket): void {
    from.on("data", (bytes) => {
      if (this.slow) void this.trickle(from, to, bytes)
      else if (!to.write(bytes)) {
        from.pause()
        to.once("drain", () => {
          if (this.thawed === undefined) from.resume()
        })
      }
    })
  }

  private async trickle(from: Socket, to: Socket, bytes: Buffer): Promise<void> {
    from.pause()
    for (let at = 0; at < bytes.length; at += SLOW_BYTES) {
      await new Promise((resolve) => setTimeout(resolve, SLOW_MS))
      if (to.destroyed) return
      to.write(bytes.subarray(at, at + SLOW_BYTES))
    }
    from.resume()
  }
}
