import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { type AddressInfo, createServer } from "node:net"
import { once } from "node:events"
import { builtIn } from "@corral/adapters/Registry"
import { scriptedProgram } from "@corral/adapters/scriptedProgram"
import type { RunId } from "@corral/domain/identity/Ids"
import type { AnyRuntimeAdapter } from "@corral/domain/run/RuntimeAdapter"
import { mint } from "@corral/service/Identifiers"
import { edgeCoreServices } from "../../src/Edge.ts"
import type { EdgeConfig } from "../../src/config/EdgeConfig.ts"
import { RuntimeRegistry } from "../../src/runtime/RuntimeRegistry.ts"
import { EdgeInstance } from "../../src/EdgeInstance.ts"
import { HubLink } from "../../src/link/HubLink.ts"
import { defaultTimes, type LinkTimes } from "../../src/link/LinkSocket.ts"
import { temporaryFolder } from "../Folder.ts"
import { type LinkPeer, openPeer } from "@corral/testing/edge/LinkPeer"
import { configLayer } from "../Samples.ts"

/** An Edge's link to that peer, in this process, until the scope closes. */
const linkTo = Effect.fnUntraced(function* (
  peer: LinkPeer,
  times: Partial<LinkTimes>,
  more: Partial<EdgeConfig> = {},
  adapters: ReadonlyMap<string, AnyRuntimeAdapter> = new Map()
) {
  const home = yield* temporaryFolder
  yield* Effect.promise(() => peer.join(home))
  const core = Layer.merge(edgeCoreServices, EdgeInstance.layer).pipe(
    Layer.provideMerge(configLayer(home, more)),
    Layer.provide(Layer.succeed(RuntimeRegistry, adapters))
  )
  const context = yield* Layer.build(
    HubLink.layerWith({ ...defaultTimes, look: 50, ...times }).pipe(Layer.provide(core))
  )
  yield* Effect.promise(() => peer.linked())
  return Context.get(context, HubLink)
})

const closedPort = async (): Promise<number> => {
  const server = createServer().listen(0, "127.0.0.1")
  await once(server, "listening")
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, "close")
  return port
}

describe("HubLink", () => {
  it.live("learns how far its clock is from the Hub's, and follows a change with the next proof", () =>
    Effect.gen(function* () {
      const peer = yield* Effect.promise(openPeer)
      peer.accessSeconds = 1
      const link = yield* linkTo(peer, {})
      assert.isUndefined(link.skewMs())
      for (const aheadMs of [0, 120_000, -120_000]) {
        peer.aheadMs = aheadMs
        const { proofs } = peer
        yield* Effect.promise(() => peer.until("another proof", () => peer.proofs > proofs + 1))
        assert.approximately(link.skewMs() ?? NaN, -aheadMs, 1_000)
      }
    })
  )

  it.live("waits before it takes the link back from another Edge with its key", () =>
    Effect.gen(function* () {
      const peer = yield* Effect.promise(openPeer)
      const link = yield* linkTo(peer, { fenced: 1_000, minDelay: 1 })
      const before = performance.now()
      peer.close(4409)
      yield* Effect.promise(() => peer.until("another dial", () => peer.dials === 2))
      assert.isAtLeast(performance.now() - before, 1_000)
      assert.match(link.readiness().problem ?? "", /newer link/)
      yield* Effect.promise(() => peer.linked())
    })
  )

  it.live("takes a call that is refused as fenced for the same", () =>
    Effect.gen(function* () {
      const peer = yield* Effect.promise(openPeer)
      peer.heartbeatSeconds = 1
      yield* linkTo(peer, { fenced: 1_000, minDelay: 1 })
      peer.fence()
      yield* Effect.promise(() => peer.until("the end of the link", () => !peer.isLinked))
      const before = performance.now()
      yield* Effect.promise(() => peer.until("another dial", () => peer.dials === 2))
      assert.isAtLeast(performance.now() - before, 900)
    })
  )

  it.live("notices a Hub that has fallen silent", () =>
    Effect.gen(function* () {
      const peer = yield* Effect.promise(openPeer)
      yield* linkTo(peer, { ping: 200, silence: 600, minDelay: 1 })
      peer.freeze()
      yield* Effect.promise(() => peer.until("another dial", () => peer.dials === 2))
      yield* Effect.promise(() => peer.linked())
    })
  )

  it.live("links again when the Hub acknowledges no events, and pushes them again", () =>
    Effect.gen(function* () {
      const peer = yield* Effect.promise(openPeer)
      const never = Promise.withResolvers<void>()
      peer.pushed.beforeAck = () => (peer.dials === 1 ? never.promise : Promise.resolve())
      const path = yield* temporaryFolder
      const config = { workspaces: [{ id: "ws", path } as EdgeConfig["workspaces"][number]] }
      const adapters = builtIn({ node: process.execPath, scriptedProgram })
      yield* linkTo(peer, { acknowledge: 400, minDelay: 1 }, config, adapters)
      const runId = mint<RunId>("run", Date.now())
      yield* Effect.promise(() => peer.start("/say hi", {}, runId))
      yield* Effect.promise(() => peer.until("another dial", () => peer.dials === 2))
      const ends = () => peer.log(runId).filter(({ type }) => type === "run.completed").length
      yield* Effect.promise(() => peer.until("the end of the run", () => ends() === 1))
      const seqs = peer.log(runId).map(({ seq }) => seq)
      assert.deepStrictEqual(
        seqs,
        seqs.map((_, at) => at + 1)
      )
      never.resolve()
    })
  )

  it.live("tries the Hub's addresses in turn", () =>
    Effect.gen(function* () {
      const peer = yield* Effect.promise(openPeer)
      const dead = `http://127.0.0.1:${yield* Effect.promise(closedPort)}`
      const link = yield* linkTo(peer, { minDelay: 1 }, { hubAddresses: [dead, peer.url] })
      assert.strictEqual(link.readiness().hub, peer.url)
      peer.cut()
      yield* Effect.promise(() => peer.until("another link", () => peer.proofs === 2))
    })
  )
})
