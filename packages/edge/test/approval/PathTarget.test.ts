import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { chmodSync, linkSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { isGrantableTarget, workspacePathsAt } from "../../src/approval/PathTarget.ts"
import { temporaryFolder } from "../Folder.ts"

const workspace = Effect.gen(function* () {
  const folder = yield* temporaryFolder
  const root = join(folder, "ws")
  mkdirSync(join(root, ".git", "hooks"), { recursive: true })
  mkdirSync(join(root, "src", "deep"), { recursive: true })
  mkdirSync(join(root, "store", "objects"), { recursive: true })
  mkdirSync(join(folder, "ws-sibling"))
  writeFileSync(join(root, "store", "HEAD"), "ref: refs/heads/main\n")
  writeFileSync(join(root, "src", "a.ts"), "")
  writeFileSync(join(folder, "secret"), "")
  linkSync(join(folder, "secret"), join(root, "twin"))
  writeFileSync(join(root, "tool"), "")
  chmodSync(join(root, "tool"), 0o755)
  const links: Record<string, string> = {
    internal: join(root, ".git"),
    out: folder,
    same: join(root, "src"),
    deep: "src/deep",
    chain: "same",
    back: "out/ws/src",
    loop: "loop",
    dangling: join(folder, "nowhere"),
    later: "src/later.ts",
    process: "/proc/self/cwd"
  }
  for (const [name, to] of Object.entries(links)) symlinkSync(to, join(root, name))
  return { root, place: workspacePathsAt(root) }
})

describe("placeAt", () => {
  it.effect("resolves a path to its normalized real target", () =>
    Effect.gen(function* () {
      const { place, root } = yield* workspace
      const expected: Record<string, string | undefined> = {
        a: "a",
        ".": ".",
        "src//a.ts": "src/a.ts",
        "./src/./a.ts": "src/a.ts",
        "src/deep/../a.ts": "src/a.ts",
        "new/../src/a.ts": "src/a.ts",
        "new/deep/file.ts": "new/deep/file.ts",
        "same/a.ts": "src/a.ts",
        "chain/a.ts": "src/a.ts",
        "back/a.ts": "src/a.ts",
        later: "src/later.ts",
        "..hidden": "..hidden",
        [join(root, "src/a.ts")]: "src/a.ts",
        [`${root}//out/ws/same`]: "src",
        "deep/../a.ts": undefined,
        "src/a.ts/x": undefined,
        "out/a.ts": undefined,
        out: undefined,
        "loop/x": undefined,
        dangling: undefined,
        "dangling/x": undefined,
        "process/x": undefined,
        "": undefined,
        "../ws-sibling/x": undefined,
        "src/../../outside/x": undefined,
        "/etc/passwd": undefined,
        "~/x": undefined,
        "C:\\x": undefined,
        "src\\a.ts": undefined,
        "a\0b": undefined,
        [`${"d/".repeat(2_100)}x`]: undefined
      }
      for (const [path, to] of Object.entries(expected)) {
        const target = place.targetOf(path)
        assert.strictEqual(target._tag === "Inside" ? target.path : undefined, to, path)
      }
    })
  )

  it.effect("resolves a path in a folder", () =>
    Effect.gen(function* () {
      const { place } = yield* workspace
      assert.deepInclude(place.targetOf("a.ts", "same"), { path: "src/a.ts" })
      assert.deepInclude(place.targetOf("../x", "src"), { path: "x" })
      assert.strictEqual(place.targetOf("../../x", "src")._tag, "Outside")
    })
  )

  it.effect("refuses Git's data, files with other names and devices to grants", () =>
    Effect.gen(function* () {
      const { place } = yield* workspace
      for (const path of ["a", "src/a.ts", "same/a", "new/a", ".gitignore", "tool"])
        assert.isTrue(isGrantableTarget(place.targetOf(path)), path)
      for (const path of [
        "internal/hooks/x",
        ".git/x",
        ".GIT /x",
        ".g\u200cit/x",
        "git~1/x",
        "out/ws/.git/x",
        "store/hooks/pre-commit",
        "store",
        "twin",
        "out/x"
      ])
        assert.isFalse(isGrantableTarget(place.targetOf(path)), path)
    })
  )
})
