/** Programs that embed a service in a Node that is too old for it: they can be imported, and fail with one sentence. */
import { assert, describe, inject, it } from "@effect/vitest"
import { spawnSync } from "node:child_process"
import { existsSync } from "node:fs"
import { join } from "node:path"
import { oldNode } from "./OldNode.ts"

type Embedded = readonly [name: string, module: string, layer: string, configModule: string, config: string]

const services: ReadonlyArray<Embedded> = [
  ["An Edge", "edge/Edge", "edgeCoreLayer", "edge/config/EdgeConfig", "EdgeConfig"],
  ["A Hub", "hub/Hub", "hubLayer", "hub/config/HubConfig", "HubConfig"],
  ["A Gateway", "gateway/Gateway", "gatewayLayer", "gateway/GatewayConfig", "GatewayConfig"]
]

const program = ([, module, layer, configModule, config]: Embedded, home: string) => `
import { Effect, Layer } from "effect"
import { ${layer} } from "@corral/${module}"
import { ${config} } from "@corral/${configModule}"
const config = Layer.succeed(${config}, { home: ${JSON.stringify(home)}, telemetry: {} })
const failure = await Effect.runPromise(Effect.flip(Effect.scoped(Layer.build(Layer.provide(${layer}, config)))))
console.log(JSON.stringify([failure._tag, failure.message]))`

describe("a program on an old Node", () => {
  it.skipIf(oldNode === undefined).each(services)("is refused %s in one sentence", (...service) => {
    const { folder } = inject("packages")
    const home = join(folder, "home-of-old-node")
    const args = ["--input-type=module", "--eval", program(service, home)]
    const { stderr, stdout } = spawnSync(oldNode ?? "", args, { cwd: folder, encoding: "utf8" })
    assert.notStrictEqual(stdout, "", stderr)
    const [tag, message] = JSON.parse(stdout)
    assert.strictEqual(tag, "NodeTooOld")
    assert.match(
      message,
      new RegExp(
        `^${service[0]} needs Node 22\\.19 or newer, and this is Node [\\d.]+\\. Install Node 24 from \\S+\\.$`
      )
    )
    assert.isFalse(existsSync(home))
  })
})
