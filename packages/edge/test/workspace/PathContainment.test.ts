import { assert, describe, it } from "@effect/vitest"
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { insideOf } from "../../src/workspace/PathContainment.ts"

describe("PathContainment", () => {
  it("follows links and refuses what leaves the workspace", () => {
    const folder = realpathSync(mkdtempSync(join(tmpdir(), "corral-paths-")))
    try {
      const root = join(folder, "root")
      mkdirSync(join(root, "src"), { recursive: true })
      mkdirSync(join(folder, "outside"))
      mkdirSync(join(folder, "root-sibling"))
      writeFileSync(join(root, "src", "a.ts"), "")
      symlinkSync(join(folder, "outside"), join(root, "out"))
      symlinkSync(join(folder, "nowhere"), join(root, "dangling"))
      symlinkSync(join(root, "src"), join(root, "in"))
      const inside = insideOf(root)
      const expected: Record<string, boolean> = {
        "src/a.ts": true,
        "src/new/deep/file.ts": true,
        "new.ts": true,
        "in/a.ts": true,
        "..hidden": true,
        "out/a.ts": false,
        out: false,
        dangling: false,
        "dangling/x": false,
        "": false,
        "../root-sibling/x": false,
        "src/../../outside/x": false,
        "/etc/passwd": false,
        "C:\\x": false,
        "a\0b": false
      }
      assert.deepStrictEqual(
        Object.fromEntries(Object.keys(expected).map((path) => [path, inside(path)])),
        expected
      )
    } finally {
      rmSync(folder, { recursive: true })
    }
  })
})
