/** Packages as people install them: packed, and unpacked outside the repository. Examples run on them in `examples`. */
import { assert, describe, it } from "@effect/vitest"
import { spawnSync } from "node:child_process"
import { existsSync, globSync, readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { inject } from "vitest"
import { root } from "./Modules.ts"
import { packed } from "./packages.ts"
import { packedManifest, publicationOf } from "./Publication.ts"

const node = (folder: string, args: ReadonlyArray<string>) =>
  spawnSync(process.execPath, args, { cwd: folder, encoding: "utf8" })

describe("packed packages", () => {
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
    const notices = join(folder, "node_modules/@corral/redaction/THIRD-PARTY-NOTICES.txt")
    assert.match(readFileSync(notices, "utf8"), /gitleaks[^]*MIT License/)
  })

  it("can be published, each one, with the repository that packs", () => {
    const tarballs = globSync("{tarballs,command,template}/*.tgz", { cwd: folder })
    assert.isAbove(tarballs.length, 10)
    for (const tarball of tarballs) {
      const manifest = packedManifest(join(folder, tarball))
      assert.notProperty(manifest, "private", tarball)
      assert.match(manifest.repository?.url ?? "", /^git\+https:\/\/.*\/corral\.git$/, tarball)
      assert.isTrue(existsSync(join(root, manifest.repository?.directory ?? "none")), tarball)
    }
  })

  it("are published parts first", () => {
    const published: Array<string> = []
    for (const path of publicationOf(folder, "{tarballs,command,template}/*.tgz")) {
      const manifest = packedManifest(join(folder, path))
      const needs = { ...manifest.dependencies, ...manifest.optionalDependencies }
      for (const need of Object.keys(needs).filter((name) => name.startsWith("@corral/")))
        assert.include(published, need, manifest.name)
      published.push(manifest.name)
    }
    assert.includeMembers(published, ["@corral/domain", "@corral/gateway", "corral", "create-corral-adapter"])
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
