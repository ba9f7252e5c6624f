/** Protected names of hostile workspaces. */
import { assert, describe, it } from "@effect/vitest"
import {
  appendFileSync,
  chmodSync,
  linkSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync
} from "node:fs"
import { until } from "@corral/testing/time/Until"
import { ProtectedCase } from "./ProtectedCase.ts"

const FILES = ["package.json", "src/app.ts", "src/.vscode/tasks.json", "notes.txt", "lib/CLAUDE.md"]

const open = (files: ReadonlyArray<string> = FILES): ProtectedCase => {
  const workspace = new ProtectedCase(files)
  workspace.changes()
  return workspace
}

describe("ProtectedTree", () => {
  it("reports nothing where nothing changes, and no ordinary file", () => {
    const workspace = open()
    assert.deepStrictEqual(workspace.lines(), [])
    for (const name of ["notes.txt", "src/app.ts", "src/new.ts", "docs/guide.md"])
      workspace.write(name, "after")
    assert.deepStrictEqual(workspace.lines(), [])
  })

  it("reports a created, a changed and a deleted file", () => {
    const workspace = open()
    workspace.write("a/b/.envrc", "x")
    appendFileSync(workspace.path("package.json"), "x")
    rmSync(workspace.path("lib/CLAUDE.md"))
    assert.deepStrictEqual(workspace.lines(), [
      "a/b/.envrc created",
      "lib/CLAUDE.md deleted",
      "package.json modified"
    ])
    assert.deepStrictEqual(workspace.lines(), [])
  })

  it("reports a rename of a file, into a name and out of one", () => {
    const workspace = open()
    renameSync(workspace.path("notes.txt"), workspace.path("Makefile"))
    renameSync(workspace.path("package.json"), workspace.path("package.txt"))
    assert.deepStrictEqual(workspace.lines(), ["Makefile created", "package.json deleted"])
  })

  it("reports a file that another one replaced, with the same content", () => {
    const workspace = open()
    workspace.write("copy", "before")
    renameSync(workspace.path("copy"), workspace.path("package.json"))
    assert.deepStrictEqual(workspace.lines(), ["package.json modified"])
  })

  it("reports a link that replaced a file, and a link with a protected name", () => {
    const workspace = open()
    rmSync(workspace.path("package.json"))
    symlinkSync("notes.txt", workspace.path("package.json"))
    symlinkSync("/etc", workspace.path(".cursor"))
    assert.deepStrictEqual(workspace.lines(), [".cursor created", "package.json modified"])
  })

  it("does not follow a link to a folder", () => {
    const workspace = open()
    symlinkSync(workspace.path("src"), workspace.path("again"))
    symlinkSync("..", workspace.path("src/up"))
    assert.deepStrictEqual(workspace.lines(), [])
  })

  it("reports a write through a hard link", () => {
    const workspace = open()
    linkSync(workspace.path("package.json"), workspace.path("other.txt"))
    workspace.changes()
    appendFileSync(workspace.path("other.txt"), "x")
    assert.deepStrictEqual(workspace.lines(), ["package.json modified"])
  })

  it("reports a change that was taken back, with the old times", () => {
    const workspace = open()
    const { atime, mtime } = statSync(workspace.path("package.json"))
    const content = readFileSync(workspace.path("package.json"))
    writeFileSync(workspace.path("package.json"), "hostile")
    writeFileSync(workspace.path("package.json"), content)
    utimesSync(workspace.path("package.json"), atime, mtime)
    assert.deepStrictEqual(workspace.lines(), ["package.json modified"])
  })

  it("does not see a file that exists only between two scans", () => {
    const workspace = open()
    workspace.write(".envrc", "x")
    rmSync(workspace.path(".envrc"))
    assert.deepStrictEqual(workspace.lines(), [])
  })

  it("reports a file that became executable", () => {
    const workspace = open()
    chmodSync(workspace.path("package.json"), 0o777)
    assert.deepStrictEqual(workspace.lines(), ["package.json modified"])
  })

  it("reports a folder that another one replaced", () => {
    const workspace = open()
    renameSync(workspace.path("src/.vscode"), workspace.path("src/old"))
    workspace.write("src/.vscode/tasks.json", "before")
    assert.deepStrictEqual(workspace.lines(), [
      "src/.vscode modified",
      "src/.vscode/tasks.json modified",
      "src/old/tasks.json created"
    ])
  })

  it("reports what is inside a renamed ordinary folder", () => {
    const workspace = open()
    renameSync(workspace.path("src"), workspace.path("code"))
    assert.deepStrictEqual(workspace.lines(), [
      "code/.vscode created",
      "code/.vscode/tasks.json created",
      "src/.vscode deleted",
      "src/.vscode/tasks.json deleted"
    ])
  })

  it("reports what Git obeys in any repository, and nothing else of it", () => {
    const workspace = open([
      "sub/.git/config",
      "sub/.git/HEAD",
      "sub/.git/objects/a",
      "sub/.git/hooks/a.sample"
    ])
    for (const name of ["HEAD", "index", "objects/b", "refs/heads/main", "logs/HEAD"])
      workspace.write(`sub/.git/${name}`, "x")
    assert.deepStrictEqual(workspace.lines(), [])
    for (const name of [
      "hooks/post-commit",
      "config",
      "commondir",
      "rebase-merge/git-rebase-todo",
      "modules/a/HEAD",
      "modules/a/objects/b",
      "modules/a/config"
    ])
      workspace.write(`sub/.git/${name}`, "y")
    assert.deepStrictEqual(workspace.lines(), [
      "sub/.git/commondir created",
      "sub/.git/config modified",
      "sub/.git/hooks/post-commit created",
      "sub/.git/modules/a/config created",
      "sub/.git/rebase-merge/git-rebase-todo created"
    ])
  })

  it("finds a repository without the name of one", () => {
    const workspace = open([])
    for (const name of ["HEAD", "objects/a", "config", "hooks/post-commit"])
      workspace.write(`bare/${name}`, "x")
    assert.deepStrictEqual(workspace.lines(), ["bare/config created", "bare/hooks/post-commit created"])
  })

  it("reads names as file systems compare them", () => {
    const workspace = open()
    for (const name of [".VSCode/tasks.json", ".gIt/config", "PACKAGE.JSON"])
      workspace.write(`other/${name}`, "x")
    assert.deepStrictEqual(workspace.lines(), [
      "other/.VSCode created",
      "other/.VSCode/tasks.json created",
      "other/.gIt created",
      "other/.gIt/config created",
      "other/PACKAGE.JSON created"
    ])
  })

  it("leaves out installed packages and caches", () => {
    const workspace = open()
    for (const folder of ["node_modules/a", ".venv/bin", ".next/server", "sub/.pytest_cache"])
      workspace.write(`${folder}/package.json`, "x")
    assert.deepStrictEqual(workspace.lines(), [])
  })

  it("says that it did not read more names than its limit", () => {
    const limits = { names: 50, depth: 64, millis: 60_000 }
    const workspace = new ProtectedCase(FILES, limits)
    workspace.changes()
    assert.isTrue(workspace.isComplete)
    for (let file = 0; file < 60; file++) workspace.write(`many/${file}.txt`, "x")
    appendFileSync(workspace.path("package.json"), "x")
    assert.deepStrictEqual(workspace.lines(), ["package.json modified"])
    assert.isFalse(workspace.isComplete)
  })

  it("does not report files that it did not read as deleted, nor old ones as created", () => {
    const limits = { names: 40, depth: 64, millis: 60_000 }
    const workspace = new ProtectedCase(["a/b/package.json"], limits)
    workspace.changes()
    for (let file = 0; file < 60; file++) workspace.write(`${file}.txt`, "x")
    assert.deepStrictEqual(workspace.lines(), [])
    assert.isFalse(workspace.isComplete)
    rmSync(workspace.path("a/b/package.json"))
    assert.deepStrictEqual(workspace.lines(), ["a/b/package.json deleted"])
    for (let file = 0; file < 60; file++) rmSync(workspace.path(`${file}.txt`))
    workspace.write("a/b/package.json", "x")
    assert.deepStrictEqual(workspace.lines(), ["a/b/package.json created"])
  })

  it("says that it did not look deeper than its limit", () => {
    const workspace = new ProtectedCase(["a/b/c/d/.envrc"], { names: 1_000, depth: 2, millis: 60_000 })
    workspace.changes()
    assert.isFalse(workspace.isComplete)
  })

  it("says that its time was over", () => {
    let now = 0
    const workspace = new ProtectedCase(FILES, { names: 1_000, depth: 9, millis: 3 }, () => now++)
    workspace.changes()
    assert.isFalse(workspace.isComplete)
  })

  it("reads a folder that changes again after a long time", async () => {
    const workspace = new ProtectedCase(FILES, undefined, () => Date.now() + 60_000)
    workspace.changes()
    assert.deepStrictEqual(workspace.lines(), [])
    // The clock of the file system is coarse.
    const { ctimeMs } = statSync(workspace.path("src"))
    await until(async () => {
      workspace.write("clock.txt", "x")
      return statSync(workspace.path("clock.txt")).ctimeMs > ctimeMs + 20 ? true : undefined
    }, "a later time")
    workspace.write("src/.envrc", "x")
    assert.deepStrictEqual(workspace.lines(), ["src/.envrc created"])
  })

  it("works in short steps, also in a folder with many names", () => {
    const workspace = new ProtectedCase()
    mkdirSync(workspace.path("many"))
    for (let file = 0; file < 2_000; file++) writeFileSync(workspace.path(`many/.${file}`), "")
    assert.isAbove([...workspace.tree.scan()].length, 20)
  })
})
