/** `node EmbedOnce.ts <folder>`: two Edges in this process that serve and run, then nothing. The process must end by itself. */
import { Context, Effect, Layer } from "effect"
import { join } from "node:path"
import { EdgeConfig, edgeDefaults, makeEdgeConfig } from "../src/config/EdgeConfig.ts"
import { edgeLayer } from "../src/Edge.ts"
import { EdgeServer } from "../src/http/Server.ts"
import { inMemory, linesOf, startEdge, startRun } from "./Embedded.ts"

const [, , folder = ""] = process.argv
const configOf = (name: string) =>
  makeEdgeConfig({
    home: join(folder, name),
    workspaces: [{ id: "here", path: folder }],
    times: { ...edgeDefaults.times, cancel: 200 }
  })

const both = Effect.gen(function* () {
  const server = yield* Layer.build(
    Layer.provide(Layer.fresh(edgeLayer), Layer.succeed(EdgeConfig, configOf("served")))
  )
  const { url } = Context.get(server, EdgeServer)
  const status = yield* Effect.promise(async () => (await fetch(`${url}/health/live`)).status)
  const edge = yield* startEdge(configOf("embedded"), inMemory)
  const lines = yield* linesOf(edge, yield* startRun(edge, "/say Hello"))
  // Ended by the scope.
  yield* startRun(edge, "/hang")
  const { type }: { readonly type: string } = JSON.parse(lines.at(-1) ?? "")
  return { status, last: type }
})

console.log(JSON.stringify(await Effect.runPromise(Effect.scoped(both))))
