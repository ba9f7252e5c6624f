/** A program outside the repository with another version of `effect`: npm installs one copy that works, or refuses. */
import { afterAll, assert, beforeAll, describe, inject, it } from "@effect/vitest"
import { execFileSync, spawn } from "node:child_process"
import { once } from "node:events"
import { cpSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { packLibraries } from "./LibraryTarballs.ts"
import { type LoopbackRegistry, startLoopbackRegistry } from "./LoopbackRegistry.ts"
import { root } from "./Modules.ts"

const folder = mkdtempSync(join(tmpdir(), "corral-effect-"))
const tarballs = join(folder, "tarballs")
const packages = ["domain", "adapters", "edge"].map((name) => `@corral/${name}`)
let registry: LoopbackRegistry | undefined

const [major = 0, minor = 0, patch = 0] = (
  JSON.parse(readFileSync(join(root, "node_modules/effect/package.json"), "utf8")) as {
    readonly version: string
  }
).version
  .split(".")
  .map(Number)
const nextPatch = `${major}.${minor}.${patch + 1}`
const nextMajor = `${major + 1}.0.0`

beforeAll(async () => {
  const { folder: packed, manifests } = inject("packages")
  cpSync(join(packed, "tarballs"), tarballs, { recursive: true })
  const libraries = manifests
    .filter(({ name }) => packages.includes(name))
    .flatMap(({ dependencies, peerDependencies }) => Object.keys({ ...dependencies, ...peerDependencies }))
    .filter((name) => !name.startsWith("@corral/"))
  packLibraries(libraries, tarballs, { effect: nextPatch })
  const stage = join(folder, "next/package")
  mkdirSync(stage, { recursive: true })
  writeFileSync(join(stage, "package.json"), JSON.stringify({ name: "effect", version: nextMajor }))
  execFileSync("tar", ["-cf", join(tarballs, "effect-next.tgz"), "-C", dirname(stage), "package"])
  registry = await startLoopbackRegistry(tarballs)
}, 120_000)
afterAll(async () => {
  await registry?.close()
  rmSync(folder, { recursive: true, force: true })
})

/** Runs a program to its end. It reads no settings of npm but these. */
const run = async (command: string, args: ReadonlyArray<string>, cwd: string) => {
  const env = {
    PATH: `${dirname(process.execPath)}:/usr/local/bin:/usr/bin:/bin`,
    HOME: folder,
    npm_config_registry: registry?.url ?? "",
    npm_config_cache: join(folder, "npm"),
    npm_config_userconfig: join(folder, "npmrc")
  }
  const child = spawn(command, args, { cwd, env, stdio: ["ignore", "pipe", "pipe"] })
  let [stdout, stderr] = ["", ""]
  child.stdout.on("data", (chunk) => (stdout += String(chunk)))
  child.stderr.on("data", (chunk) => (stderr += String(chunk)))
  const [code] = (await once(child, "close")) as [number | null]
  return { code, stdout, stderr }
}

const install = async (name: string, dependencies: Readonly<Record<string, string>>) => {
  const host = join(folder, name)
  mkdirSync(host)
  writeFileSync(join(host, "package.json"), JSON.stringify({ type: "module", dependencies }))
  const installed = await run("npm", ["install", "--ignore-scripts", "--no-audit", "--no-fund"], host)
  return { host, ...installed }
}

describe("a program with another version of effect", { timeout: 120_000 }, () => {
  it("shares one copy of the next patch version with an Edge", async () => {
    const versions = Object.fromEntries(packages.map((name) => [name, "*"]))
    const { code, host, stderr } = await install("patch", { ...versions, effect: nextPatch })
    assert.strictEqual(code, 0, stderr)
    const copies = globSync("**/node_modules/effect/package.json", { cwd: host })
    assert.deepStrictEqual(copies, ["node_modules/effect/package.json"])
    assert.include(readFileSync(join(host, "node_modules/effect/package.json"), "utf8"), nextPatch)
    cpSync(join(root, "examples/embed-edge/main.ts"), join(host, "main.ts"))
    const { code: exit, stderr: errors, stdout } = await run(process.execPath, ["main.ts"], host)
    assert.strictEqual(exit, 0, errors)
    assert.include(stdout.trimEnd().split("\n").at(-1), '"type":"run.completed"')
  })

  it("is refused by npm with the next major version", async () => {
    const { code, stderr } = await install("major", { "@corral/domain": "*", effect: nextMajor })
    assert.notStrictEqual(code, 0)
    assert.include(stderr, "ERESOLVE")
    assert.include(stderr, `peer effect@"^${major}.${minor}.${patch}" from @corral/domain`)
  })
})
