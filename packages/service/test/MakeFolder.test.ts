import { assert, describe, it, onTestFinished } from "@effect/vitest"
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { makeFolder } from "../src/MakeFolder.ts"

const temporary = (): string => {
  const folder = mkdtempSync(join(realpathSync(tmpdir()), "corral-folder-"))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

const codeOf = (path: string): unknown => {
  try {
    makeFolder(path)
    return "created"
  } catch (cause) {
    return cause instanceof Error && "code" in cause ? cause.code : cause
  }
}

describe("makeFolder", () => {
  it("creates the folder and its missing parents, each with the mode", () => {
    const folder = temporary()
    makeFolder(join(folder, "a/b/c"))
    for (const path of ["a", "a/b", "a/b/c"])
      assert.strictEqual(statSync(join(folder, path)).mode & 0o777, 0o700)
    makeFolder(join(folder, "d"), 0o755)
    assert.strictEqual(statSync(join(folder, "d")).mode & 0o777, 0o755)
  })

  it("leaves an existing folder as it is, also through a link and with a slash at the end", () => {
    const folder = temporary()
    mkdirSync(join(folder, "real"), { mode: 0o750 })
    symlinkSync("real", join(folder, "link"))
    for (const path of ["real", "real/", "link", "link/", "real/../real"]) makeFolder(join(folder, path))
    assert.strictEqual(statSync(join(folder, "real")).mode & 0o777, 0o750)
    makeFolder(join(folder, "link/below/"))
    assert.isTrue(existsSync(join(folder, "real/below")))
  })

  it("throws the error of the system for a file, a dangling link, a loop and a name that is too long", () => {
    const folder = temporary()
    writeFileSync(join(folder, "file"), "")
    symlinkSync("nowhere", join(folder, "dangling"))
    symlinkSync("loop", join(folder, "loop"))
    assert.deepStrictEqual(
      ["file", "file/a/b", "dangling", "dangling/a", "loop/a", "x".repeat(300)].map((name) =>
        codeOf(join(folder, name))
      ),
      ["EEXIST", "ENOTDIR", "EEXIST", "EEXIST", "ELOOP", "ENAMETOOLONG"]
    )
  })

  it.skipIf(!existsSync("/proc/self"))("throws below a folder that accepts no entries", () => {
    for (const path of ["/proc/corral", "/proc/corral/a/b", "/proc/self/fd/corral/a"])
      assert.strictEqual(codeOf(path), "ENOENT", path)
  })
})
