/** A program outside the repository with another version of `effect`: npm installs one copy that works, or refuses. */
import { afterAll, assert, beforeAll, describe, inject, it } from "@effect/vitest"
import { execFileSync } from "node:child_process"
import { cpSync, globSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { librariesOf, packLibraries } from "./LibraryTarballs.ts"
import { root } from "./Modules.ts"
import { openNpmEnvironment, type NpmEnvironment } from "./NpmEnvironment.ts"

const packages = ["domain", "adapters", "redaction", "edge"].map((name) => `@corral/${name}`)
let user: NpmEnvironment | undefined

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
  user = await openNpmEnvironment((tarballs) => {
    cpSync(join(packed, "tarballs"), tarballs, { recursive: true })
    packLibraries(librariesOf(packages, manifests), tarballs, { effect: nextPatch })
    const stage = join(dirname(tarballs), "next/package")
    mkdirSync(stage, { recursive: true })
    writeFileSync(join(stage, "package.json"), JSON.stringify({ name: "effect", version: nextMajor }))
    execFileSync("tar", ["-cf", join(tarballs, "effect-next.tgz"), "-C", dirname(stage), "package"])
  })
})
afterAll(() => user?.close())

const install = async (name: string, dependencies: Readonly<Record<string, string>>) => {
  assert.isDefined(user)
  const host = join(user.folder, name)
  mkdirSync(host)
  writeFileSync(join(host, "package.json"), JSON.stringify({ type: "module", dependencies }))
  return { user, host, installed: await user.npm(host, "install", "--ignore-scripts") }
}

describe("a program with another version of effect", () => {
  it("shares one copy of the next patch version with an Edge", async () => {
    const versions = Object.fromEntries(packages.map((name) => [name, "*"]))
    const { host, installed, user } = await install("patch", { ...versions, effect: nextPatch })
    assert.strictEqual(installed.exit, 0, installed.stderr)
    const copies = globSync("**/node_modules/effect/package.json", { cwd: host })
    assert.deepStrictEqual(copies, ["node_modules/effect/package.json"])
    assert.include(readFileSync(join(host, "node_modules/effect/package.json"), "utf8"), nextPatch)
    cpSync(join(root, "examples/embed-edge/main.ts"), join(host, "main.ts"))
    const { exit, out, stderr } = await user.start(process.execPath, ["main.ts"], { cwd: host }).done
    assert.strictEqual(exit, 0, stderr)
    assert.include(out.at(-1), '"type":"run.completed"')
  })

  it("is refused by npm with the next major version", async () => {
    const { installed } = await install("major", { "@corral/domain": "*", effect: nextMajor })
    const { exit, stderr } = installed
    assert.notStrictEqual(exit, 0)
    assert.include(stderr, "ERESOLVE")
    assert.include(stderr, `peer effect@"^${major}.${minor}.${patch}" from @corral/domain`)
  })
})
