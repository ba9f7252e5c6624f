import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { mkdirSync, symlinkSync } from "node:fs"
import { join } from "node:path"
import { writableIn } from "../../src/approval/WritablePath.ts"
import { temporaryFolder } from "../Folder.ts"

describe("writableIn", () => {
  it.effect("follows links to where they lead", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const root = join(folder, "ws")
      mkdirSync(join(root, ".git", "hooks"), { recursive: true })
      mkdirSync(join(root, "src"))
      symlinkSync(join(root, ".git"), join(root, "internal"))
      symlinkSync(folder, join(root, "out"))
      symlinkSync(join(root, "src"), join(root, "same"))
      const isWritable = writableIn(root)
      for (const path of ["a", "src/a", "same/a", "new/a", ".gitignore"])
        assert.isTrue(isWritable(path), path)
      for (const path of ["internal/hooks/x", ".git/x", "out/x", "out/ws/.git/x", "../x", "/x", ""])
        assert.isFalse(isWritable(path), path)
    })
  )
})
