/** In `auto_edit`: what a tool finds by its name asks, in the workspace and in its packages; what a program's own code reads does not. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { mkdirSync, writeFileSync } from "node:fs"
import { basename, join } from "node:path"
import { manifests, scriptTypes } from "../../src/approval/FileNames.ts"
import { workspacePathsAt } from "../../src/approval/PathTarget.ts"
import { temporaryFolder } from "../Folder.ts"
import { request } from "../Samples.ts"
import { anywhere, atTop, dataFolders, inData, inPackages, ordinary } from "./LoadedNames.ts"
import { policyOf, shell, verdictOn } from "./RunPolicies.ts"

/** A workspace with packages, each with a manifest; what `auto_edit` says of a write there. */
const workspace = Effect.gen(function* () {
  const root = yield* temporaryFolder
  const packages = [...manifests, "api.gemspec"].map((manifest, i) => {
    const folder = manifest === "api.gemspec" ? "gems/api" : `packages/p${i}`
    mkdirSync(join(root, folder), { recursive: true })
    writeFileSync(join(root, folder, manifest), "")
    return folder
  })
  const answer = (path: string, place = workspacePathsAt(root)) =>
    verdictOn(policyOf({ mode: "auto_edit", place }), request({ files: [path] }))._tag
  return { root, packages, answer }
})

describe("auto_edit", () => {
  it.effect("asks before a write to a name that tools look up in the workspace or in a package", () =>
    Effect.gen(function* () {
      const { answer, packages } = yield* workspace
      for (const name of atTop)
        for (const folder of ["", ...packages.map((each) => `${each}/`)])
          assert.strictEqual(answer(`${folder}${name}`), "Ask", `${folder}${name}`)
    })
  )

  it.effect("asks before a write to any script next to a manifest", () =>
    Effect.gen(function* () {
      const { answer, packages } = yield* workspace
      for (const type of scriptTypes)
        for (const folder of packages)
          assert.strictEqual(answer(`${folder}/any.${type}`), "Ask", `${folder}/any.${type}`)
    })
  )

  it.effect("asks before a write to what other programs load, in any folder, in any case", () =>
    Effect.gen(function* () {
      const { answer } = yield* workspace
      for (const path of anywhere)
        for (const each of [path, `services/${path}`, `packages/p0/${path}`, path.toUpperCase()])
          assert.strictEqual(answer(each), "Ask", each)
    })
  )

  it.effect("asks before a write to a name with a meaning for tools in a folder for data", () =>
    Effect.gen(function* () {
      const { answer } = yield* workspace
      for (const folder of dataFolders) {
        assert.strictEqual(answer(`${folder}/answer.json`), "Allow", folder)
        for (const name of inData) assert.strictEqual(answer(`${folder}/${name}`), "Ask", `${folder}/${name}`)
      }
    })
  )

  it.effect("asks before a write to a name of a tool's kind", () =>
    Effect.gen(function* () {
      const { answer } = yield* workspace
      for (const tool of ["foo", "new-tool", "a.b"])
        for (const word of ["config", "conf", "rc", "setup", "teardown", "plugin", "plugins"])
          for (const type of ["ts", "mjs", "py", "rb", "php"])
            for (const separator of ["-", "_", "."]) {
              const path = `src/${tool}${separator}${word}.${type}`
              assert.strictEqual(answer(path), "Ask", path)
            }
    })
  )

  it.effect("writes ordinary sources, tests, documents and data without asking", () =>
    Effect.gen(function* () {
      const { answer, packages, root } = yield* workspace
      assert.isAtLeast(ordinary.length, 40)
      for (const path of [...ordinary, ...inPackages]) assert.strictEqual(answer(path), "Allow", path)
      for (const path of ordinary.filter((each) => each.includes("/")))
        assert.strictEqual(answer(`${packages[0]}/${path}`), "Allow", path)
      mkdirSync(join(root, "src"))
      for (const path of ordinary) assert.strictEqual(answer(path), "Allow", basename(path))
    })
  )
})

describe("A rule with prefix", () => {
  it("covers no script at the top of the workspace, which tools may load", () => {
    const policy = policyOf({ configured: [{ action: "shell", command: ["cp"], prefix: true }] })
    assert.strictEqual(verdictOn(policy, shell("cp src/a.ts src/b.ts"))._tag, "Allow")
    for (const name of ["knip.ts", "gems.rb", "hooks/a.py"])
      assert.strictEqual(verdictOn(policy, shell(`cp src/a.ts ${name}`))._tag, "Ask", name)
  })
})
