/**
 * An Edge in the process of its tests: the layer that `node dist/edge` runs, with its own home, workspace, port and log. For tests of the Edge's
 * behaviour over HTTP; starting a process costs half a second of CPU time, and its code is never warm.
 *
 * One that confines its runs can have a server of the test as its internet: every name leads to an address of nothing, and a connection to it
 * reaches the server.
 *
 * Its end kills the processes of its runs first, so that no run delays it.
 */
import { runLayer } from "../process/LayerInProcess.ts"
import { type EdgeOptions, EdgeProcess, type LaunchedEdge } from "./EdgeProcess.ts"
import { endAll } from "./Survivors.ts"
import { EdgeConfig } from "@corral/edge/config/EdgeConfig"
import * as Edge from "@corral/edge/Edge"
import { readEdgeConfig } from "@corral/edge/EdgeSettings"
import { EdgeServer } from "@corral/edge/http/Server"
import { HostUnreachable, NetworkAccess } from "@corral/edge/network/NetworkAccess"
import { connectLoopback } from "@corral/edge/preview/Loopback"
import { type SearchThread, SearchThreadStart, startSearchThread } from "@corral/edge/process/SharedSearch"
import { onTestFinished } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { once } from "node:events"
import { createServer, type Server } from "node:http"

/** Thread of the searches of all Edges here, one after the other: to start one for each Edge costs more than the searches of a test. */
let searchThread: SearchThread | undefined
let lastSearch: Promise<unknown> = Promise.resolve()
const sharedSearchThread = (): SearchThread => ({
  search: (targets) => {
    const found = lastSearch.then(() => (searchThread ??= startSearchThread()).search(targets))
    lastSearch = found.catch(() => (searchThread = undefined))
    return found
  },
  close: () => undefined
})

export class EdgeInProcess extends EdgeProcess {
  /** Replaced parts of the Edge. */
  protected get parts(): Layer.Layer<never> {
    return Layer.empty
  }

  protected override launch(): LaunchedEdge {
    return runLayer(
      Edge.edgeLayer.pipe(
        Layer.provide(Layer.effect(EdgeConfig, readEdgeConfig(this.environment))),
        Layer.provide(this.parts),
        Layer.provide(Layer.succeed(SearchThreadStart, sharedSearchThread))
      ),
      (context) => ({ url: Context.get(context, EdgeServer).url }),
      (line) => (this.stderr += `${line}\n`)
    )
  }

  protected override end(): Promise<unknown> {
    endAll(this.survivors())
    return this.stop()
  }
}

/** An Edge in this process for one test. */
export const openEdgeInProcess = async (options: EdgeOptions = {}): Promise<EdgeInProcess> => {
  const edge = new EdgeInProcess(options)
  onTestFinished(() => edge.remove())
  await edge.start()
  return edge
}

const ADDRESS = "93.184.216.34"

/** An Edge that confines its runs, and for which the internet is one server of the test. */
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
