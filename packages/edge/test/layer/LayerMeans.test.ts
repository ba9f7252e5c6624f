/** Workspaces that an overlay cannot serve. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { chmodSync, mkdirSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { hasForeignFiles, LayerChecks } from "../../src/layer/LayerMeans.ts"
import { temporaryFolder } from "../Folder.ts"

describe("hasForeignFiles", () => {
  it.effect("finds files of another user or group in any folder but .git", () =>
    Effect.gen(function* () {
      const root = yield* temporaryFolder
      mkdirSync(join(root, ".git"))
      mkdirSync(join(root, "folder"))
      writeFileSync(join(root, "folder/a.txt"), "a")
      symlinkSync("/", join(root, "link"))
      const { gid, uid } = statSync(root)
      assert.isFalse(hasForeignFiles(root, uid, gid))
      assert.isTrue(hasForeignFiles(root, uid, gid + 1))
      assert.isTrue(hasForeignFiles(root, uid + 1, gid))
    })
  )

  it.effect("leaves out files that the user may not write", () =>
    Effect.gen(function* () {
      const root = yield* temporaryFolder
      const { gid, uid } = statSync(root)
      chmodSync(root, 0o555)
      // Root may write everything.
      assert.strictEqual(hasForeignFiles(root, uid, gid + 1), uid === 0)
      chmodSync(root, 0o700)
    })
  )
})

describe("The means of layers", () => {
  it.effect("are tried again after a trial that was not possible", () =>
    Effect.gen(function* () {
      const home = yield* temporaryFolder
      const file = join(home, "layers")
      writeFileSync(file, "in the way")
      const checks = yield* LayerChecks.make(home)
      const before = yield* checks.readiness
      assert.strictEqual(before.means, "copy")
      assert.match(before.problem ?? "", /^Layers could not be tried: /)
      rmSync(file)
      const after = yield* checks.readiness
      assert.notMatch(after.problem ?? "", /could not be tried/)
    })
  )
})
