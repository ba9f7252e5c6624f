import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync
} from "node:fs"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import {
  leaveSystemFolder,
  leftTemporary,
  makeTemporary,
  removeTemporary,
  temporaryFolderOf
} from "../../src/process/TemporaryFolder.ts"
import { temporaryFolder } from "../Folder.ts"

const runId = "run_01HZXW5V6Y7Z8A9B0C1D2E3F4G"
const modeOf = (path: string): number => statSync(path).mode & 0o777

describe("temporaryFolderOf", () => {
  it("lies in the home, named for the run", () => {
    assert.strictEqual(temporaryFolderOf("/home/ann/.corral", runId), `/home/ann/.corral/tmp/${runId}`)
  })

  it.effect("leaves room for a socket, also where the home's path is long", () =>
    Effect.gen(function* () {
      const home = join(yield* temporaryFolder, "a".repeat(80))
      const folder = temporaryFolderOf(home, runId)
      assert.strictEqual(dirname(dirname(folder)), tmpdir())
      assert.notStrictEqual(
        dirname(folder),
        dirname(temporaryFolderOf(`${home}b`, runId)),
        "each home its own"
      )
      makeTemporary(folder)
      yield* Effect.addFinalizer(() => Effect.sync(() => rmSync(dirname(folder), { recursive: true })))
      assert.deepStrictEqual([modeOf(dirname(folder)), modeOf(folder)], [0o700, 0o700])
      const socket = join(folder, "s".repeat(32))
      const server = createServer()
      yield* Effect.callback<void>((resume) => void server.listen(socket, () => resume(Effect.void)))
      assert.isTrue(existsSync(socket), "its name was not cut")
      server.close()
      assert.deepStrictEqual(leftTemporary(home), [folder])
    })
  )
})

describe("leaveSystemFolder", () => {
  it.effect("removes the home's folder from the system's when no run has its own there", () =>
    Effect.gen(function* () {
      const home = join(yield* temporaryFolder, "a".repeat(80))
      const folder = temporaryFolderOf(home, runId)
      makeTemporary(folder)
      leaveSystemFolder(home)
      assert.isTrue(existsSync(folder))
      yield* removeTemporary(folder)
      leaveSystemFolder(home)
      assert.isFalse(existsSync(dirname(folder)))
      leaveSystemFolder(home)
    })
  )
})

describe("makeTemporary", () => {
  it.effect("makes a folder that only its owner can access, regardless of the folders around it", () =>
    Effect.gen(function* () {
      const home = yield* temporaryFolder
      mkdirSync(join(home, "tmp"))
      chmodSync(join(home, "tmp"), 0o777)
      const folder = join(home, "tmp", runId)
      makeTemporary(folder)
      assert.deepStrictEqual([modeOf(dirname(folder)), modeOf(folder)], [0o700, 0o700])
    })
  )

  it.effect("refuses one that is there already, and one behind a link", () =>
    Effect.gen(function* () {
      const home = yield* temporaryFolder
      const folder = join(home, "tmp", runId)
      mkdirSync(folder, { recursive: true })
      assert.throws(() => makeTemporary(folder), /EEXIST/)
      symlinkSync(join(home, "tmp"), join(home, "link"))
      assert.throws(() => makeTemporary(join(home, "link", "run_2")), /another user/)
      assert.deepStrictEqual(leftTemporary(join(home, "link")), [])
    })
  )
})

describe("removeTemporary", () => {
  it.effect("removes all that is in it, and nothing that its links lead to", () =>
    Effect.gen(function* () {
      const home = yield* temporaryFolder
      const folder = join(home, "tmp", runId)
      makeTemporary(folder)
      mkdirSync(join(home, "kept"))
      writeFileSync(join(home, "kept", "file"), "kept")
      symlinkSync(join(home, "kept"), join(folder, "link"))
      mkdirSync(join(folder, "closed", "deep"), { recursive: true })
      writeFileSync(join(folder, "closed", "deep", "file"), "")
      chmodSync(join(folder, "closed", "deep"), 0)
      chmodSync(join(folder, "closed"), 0o500)
      yield* removeTemporary(folder)
      assert.isFalse(existsSync(folder))
      assert.strictEqual(readFileSync(join(home, "kept", "file"), "utf8"), "kept")

      symlinkSync(join(home, "kept"), folder)
      yield* Effect.forEach(leftTemporary(home), removeTemporary)
      assert.deepStrictEqual(leftTemporary(home), [])
      assert.strictEqual(readFileSync(join(home, "kept", "file"), "utf8"), "kept")
    })
  )

  it.effect("has nothing to do where there is none", () =>
    Effect.gen(function* () {
      const home = yield* temporaryFolder
      yield* removeTemporary(join(home, "tmp", runId))
      assert.deepStrictEqual(leftTemporary(home), [])
    })
  )
})
