/**
 * A real WebSocket server with the host, for tests. Each upgrade is of the caller that its path names.
 *
 * Guarantees: a test fails if the host sends an action that the protocol does not have.
 */
import { AgentHostClient, type AgentHostOptions } from "@corral/testing/editor/AgentHostClient"
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { once } from "node:events"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import type { HostBackend } from "../src/host/HostBackend.ts"
import { chatAddress, sessionAddress } from "../src/protocol/Addresses.ts"
import { type AgentHostOptions as HostOptions, makeAgentHost } from "../src/host/AgentHost.ts"
import { agentId, MemoryServices } from "./MemoryServices.ts"
import { problemOf } from "./protocol/ActionSchemas.ts"

export const serveHost = Effect.fnUntraced(function* (
  backendFor: (path: string) => HostBackend,
  options: HostOptions = {}
) {
  const host = yield* makeAgentHost(options)
  const server = createServer()
  server.on("upgrade", (request, stream, head) =>
    host.accept({ request, stream, head }, backendFor(request.url ?? "/"))
  )
  yield* Effect.acquireRelease(
    Effect.promise(async () => {
      server.listen(0, "127.0.0.1")
      await once(server, "listening")
    }),
    () =>
      Effect.andThen(
        host.closeAll,
        Effect.sync(() => {
          server.closeAllConnections()
          server.close()
        })
      )
  )
  const { port } = server.address() as AddressInfo // listening
  const url = `ws://127.0.0.1:${port}`
  const clients: Array<AgentHostClient> = []
  yield* Effect.addFinalizer(() =>
    Effect.sync(() => {
      clients.forEach((client) => client.drop())
      // An action with an origin repeats what a client has sent.
      const written = clients.flatMap(({ actions }) => actions.filter(({ origin }) => origin === undefined))
      assert.deepStrictEqual(
        written.flatMap(({ action }) => problemOf(action) ?? []),
        []
      )
    })
  )
  const keep = (client: AgentHostClient) => {
    clients.push(client)
    return client
  }
  return {
    host,
    url,
    /** A client that is connected and initialized. */
    open: (path = "/", more: AgentHostOptions = {}) =>
      Effect.promise(async () => keep(await AgentHostClient.open(`${url}${path}`, more))),
    /** A client that is connected only. */
    connect: (path = "/", more: AgentHostOptions = {}) =>
      Effect.promise(async () => {
        const client = await AgentHostClient.connect(`${url}${path}`, more)
        if (!(client instanceof AgentHostClient)) throw new Error("the upgrade was refused")
        return keep(client)
      })
  }
})

/** A host with one session. */
export const servedSession = Effect.gen(function* () {
  const services = new MemoryServices()
  const { backend } = services.connect()
  const server = yield* serveHost(() => backend)
  const id = services.newSession()
  const session = sessionAddress(agentId, id)
  return { services, server, id, session, chat: chatAddress(session) }
})
