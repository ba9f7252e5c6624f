/** Servers of this machine for the hostile program, and what they received. Nothing may reach them except the server of the declared host. */
import { Effect } from "effect"
import { createSocket } from "node:dgram"
import { once } from "node:events"
import { mkdirSync, readlinkSync } from "node:fs"
import { createServer as createHttpServer } from "node:http"
import { type AddressInfo, createServer, type ListenOptions, type Server } from "node:net"
import { dirname, join } from "node:path"
import { randomUUID } from "node:crypto"
import { Outside, PUBLIC } from "../network/Outside.ts"
import type { CaseNetwork } from "./ConfinedCase.ts"

const portOf = (server: { address: () => AddressInfo | string | null }): number => {
  const address = server.address()
  return typeof address === "object" && address !== null ? address.port : 0
}

export class HostileNetwork {
  /** Servers that were reached although nothing allows it. */
  readonly reached: Array<string> = []
  /** Hosts that the user was asked for. */
  readonly requestedHosts: Array<string> = []
  private readonly servers: Array<{ close: () => unknown }> = []

  /** Starts the servers. `folder` gets sockets. */
  async open(folder: string): Promise<CaseNetwork> {
    const tcp4 = await this.#listen("TCP", { port: 0, host: "127.0.0.1" })
    const tcp6 = await this.#listen("TCP over IPv6", { port: 0, host: "::1" }).catch(() => undefined)
    const abstract = `corral-hostile-${randomUUID()}`
    await this.#listen("abstract", { path: `\0${abstract}` })
    const outsideSockets: Record<string, string> = {
      docker: join(folder, "docker.sock"),
      bus: join(folder, "bus"),
      sibling: join(folder, "run_b.net", "proxy")
    }
    for (const [name, path] of Object.entries(outsideSockets)) {
      mkdirSync(dirname(path), { recursive: true })
      await this.#listen(name, { path })
    }
    const udp = createSocket("udp4", (_, from) => {
      this.reached.push("UDP")
      udp.send("x", from.port, from.address)
    })
    udp.bind(0, "127.0.0.1")
    await once(udp, "listening")
    this.servers.push(udp)
    const granted = await this.#serve(createServer((socket) => void socket.end("granted")))
    const model = await this.#serve(createHttpServer((_, response) => void response.end("from outside")))
    const names = {
      "model.test": [PUBLIC],
      "other.test": [PUBLIC],
      "rebound.test": ["127.0.0.1"],
      "metadata.test": ["169.254.169.254"]
    }
    return {
      access: new Outside(model, names).access,
      declared: { hosts: ["model.test", "rebound.test", "metadata.test"] },
      hosts: [`127.0.0.1:${granted}`],
      user: {
        ask: ({ host }) =>
          Effect.sync(() => {
            this.requestedHosts.push(host)
            return "denied" as const
          }),
        report: () => undefined
      },
      targets: {
        abstract,
        granted,
        outsideSockets,
        hostNetwork: readlinkSync("/proc/self/ns/net"),
        ports: { tcp4: portOf(tcp4), tcp6: tcp6 === undefined ? 1 : portOf(tcp6), udp: udp.address().port }
      }
    }
  }

  close(): void {
    for (const server of this.servers) server.close()
  }

  /** Counts connections. */
  async #listen(name: string, options: ListenOptions): Promise<Server> {
    const server = createServer((socket) => {
      this.reached.push(name)
      socket.on("error", () => undefined)
      socket.end("reached")
    })
    server.listen(options)
    await once(server, "listening")
    this.servers.push(server)
    return server
  }

  async #serve(server: Server): Promise<number> {
    server.listen(0, "127.0.0.1")
    await once(server, "listening")
    this.servers.push(server)
    return portOf(server)
  }
}
