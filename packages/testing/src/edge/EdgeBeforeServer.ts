/**
 * An Edge in this process that confines its runs, and for which the internet is one server of the test on this machine: every name leads to an
 * address of nothing, and a connection to it reaches the server.
 */
import { HostUnreachable, NetworkAccess } from "@corral/edge/network/NetworkAccess"
import { connectLoopback } from "@corral/edge/preview/Loopback"
import { Effect, Layer } from "effect"
import { createServer, type Server } from "node:http"
import { once } from "node:events"
import { EdgeInProcess } from "./EdgeInProcess.ts"
import type { EdgeOptions } from "./EdgeProcess.ts"

const ADDRESS = "93.184.216.34"

export class EdgeBeforeServer extends EdgeInProcess {
  /** Hosts of the requests that arrived at the server. */
  readonly arrived: Array<string> = []
  readonly #server: Server = createServer(({ headers }, response) => {
    this.arrived.push(headers.host ?? "")
    response.end("from outside")
  })

  constructor({ env, ...options }: EdgeOptions = {}) {
    super({ ...options, env: { CORRAL_EDGE_CONFINEMENT: "required", ...env } })
  }

  override async start(): Promise<void> {
    if (!this.#server.listening) {
      this.#server.listen(0, "127.0.0.1")
      await once(this.#server, "listening")
    }
    await super.start()
  }

  override async remove(): Promise<void> {
    await super.remove()
    this.#server.closeAllConnections()
    this.#server.close()
  }

  protected override get parts(): Layer.Layer<never> {
    const unreachable = () => new HostUnreachable({ reason: "unreachable" })
    return Layer.succeed(NetworkAccess, {
      resolve: () => Effect.succeed([ADDRESS]),
      connect: () =>
        Effect.suspend(() => {
          const address = this.#server.address()
          return typeof address === "object" && address !== null
            ? Effect.mapError(connectLoopback(address.port), unreachable)
            : Effect.fail(unreachable())
        }),
      ownAddresses: () => new Set<string>()
    })
  }
}
