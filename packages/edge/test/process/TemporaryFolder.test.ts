import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { chmodSync, existsSync, mkdirSync, statSync, symlinkSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import {
  leftTemporary,
  makeTemporary,
  removeTemporary,
  temporaryFolderOf
} from "../../src/process/TemporaryFolder.ts"
import { temporaryFolder } from "../Folder.ts"

const runId = `run_${"0".repeat(26)}`

describe("The temporary folder of a run", () => {
  it("leaves room for the path of a socket, however deep the home lies", () => {
    for (const home of ["/h", "/home/ada/.corral", `/${"deep/".repeat(40)}home`]) {
      const folder = temporaryFolderOf(home, runId)
      assert.isAtMost(join(folder, "s".repeat(24)).length, 103, folder)
      assert.strictEqual(dirname(temporaryFolderOf(home, "other")), dirname(folder))
    }
    assert.notStrictEqual(
      temporaryFolderOf(`/${"a/".repeat(40)}`, runId),
      temporaryFolderOf(`/${"b/".repeat(40)}`, runId)
    )
  })

  it.effect("is its owner's alone, and goes with all that is in it but what links lead to", () =>
    Effect.gen(function* () {
      const home = yield* temporaryFolder
      const folder = temporaryFolderOf(home, runId)
      makeTemporary(folder)
      assert.strictEqual(statSync(folder).mode & 0o777, 0o700)
      assert.strictEqual(statSync(dirname(folder)).mode & 0o777, 0o700)
      const kept = join(home, "kept")
      mkdirSync(kept)
      writeFileSync(join(kept, "file"), "stays")
      symlinkSync(kept, join(folder, "link"))
      mkdirSync(join(folder, "locked"))
      writeFileSync(join(folder, "locked", "file"), "goes")
      chmodSync(join(folder, "locked"), 0o000)
      yield* removeTemporary(folder)
      assert.isFalse(existsSync(folder))
      assert.isTrue(existsSync(join(kept, "file")))
    })
  )

  it.effect("is found again where an Edge left it, through no link", () =>
    Effect.gen(function* () {
      const home = yield* temporaryFolder
      const folder = temporaryFolderOf(home, runId)
      makeTemporary(folder)
      assert.include(leftTemporary(home), folder)
      yield* removeTemporary(folder)
      const other = yield* temporaryFolder
      mkdirSync(join(other, "elsewhere", "precious"), { recursive: true })
      symlinkSync(join(other, "elsewhere"), join(other, "tmp"))
      assert.deepStrictEqual(leftTemporary(other), [])
    })
  )
})
