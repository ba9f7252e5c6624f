/** Packages as people install them: packed, and unpacked outside the repository. Examples run on them in `examples`. */
import { assert, describe, it } from "@effect/vitest"
import { spawnSync } from "node:child_process"
import { existsSync, globSync, readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { inject } from "vitest"
import { packed } from "./packages.ts"

const node = (folder: string, args: ReadonlyArray<string>) =>
  spawnSync(process.execPath, args, { cwd: folder, encoding: "utf8" })

describe("packed packages", { timeout: 120_000 }, () => {
  const { folder, manifests } = inject("packages")

  it("are the packages of the list", () => {
    assert.deepStrictEqual(
      manifests.map(({ name }) => name).toSorted(),
      packed.map(({ name }) => `@corral/${name}`).toSorted()
    )
  })

  it.each(packed.map(({ name }) => name))("%s contains no sources, no tests, and a readme", (name) => {
    const place = join(folder, "node_modules/@corral", name)
    const manifest = manifests.find((each) => each.name === `@corral/${name}`)
    assert.deepStrictEqual(
      readdirSync(place).toSorted(),
      ["LICENSE", "README.md", "package.json", ...(manifest?.files ?? [])].toSorted()
    )
    const others = readdirSync(join(place, "lib"), { recursive: true, encoding: "utf8" }).filter(
      (file) => /\.\w+$/.test(file) && !/\.(?:js|js\.map|d\.ts)$/.test(file)
    )
    assert.deepStrictEqual(others, [])
  })

  it.each(packed.map(({ name }) => name))("%s exports code and types by each name", (name) => {
    const { exports = {} } = manifests.find((each) => each.name === `@corral/${name}`) ?? {}
    const entries = Object.entries(exports).filter(([, target]) => typeof target !== "string")
    assert.isAbove(entries.length, 0)
    const place = join(folder, "node_modules/@corral", name)
    for (const [, target] of entries)
      for (const file of typeof target === "string" ? [] : Object.values(target))
        assert.isTrue(existsSync(join(place, file)), file)
    const imports = entries.map(([path]) => `await import("@corral/${name}/${path.slice(2)}")`)
    const { status, stderr } = node(folder, ["--input-type=module", "--eval", imports.join("\n")])
    assert.strictEqual(status, 0, stderr)
  })

  it("contain the licences of texts that others wrote", () => {
    const notices = join(folder, "node_modules/@corral/domain/THIRD-PARTY-NOTICES.txt")
    assert.match(readFileSync(notices, "utf8"), /gitleaks[^]*MIT License/)
  })

  it("can be published, each one", () => {
    for (const tarball of globSync("{tarballs,command,template}/*.tgz", { cwd: folder })) {
      const { stdout } = spawnSync("tar", ["-xOf", join(folder, tarball), "package/package.json"], {
        encoding: "utf8"
      })
      assert.notProperty(JSON.parse(stdout), "private", tarball)
    }
  })

  it("do not export what is internal", () => {
    const { status, stderr } = node(folder, [
      "--input-type=module",
      "--eval",
      `await import("@corral/edge/store/Writer")`
    ])
    assert.notStrictEqual(status, 0)
    assert.include(stderr, "ERR_PACKAGE_PATH_NOT_EXPORTED")
  })
})
