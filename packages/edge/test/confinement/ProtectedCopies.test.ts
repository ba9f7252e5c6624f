/** Approved edits of protected folders: what reaches the workspace, while a hostile run changes its copies. */
import type { ApprovalRequest } from "@corral/domain/approval/Approval"
import type { ApprovalAnswer } from "@corral/domain/run/RuntimeAdapter"
import { assert, describe, it } from "@effect/vitest"
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync
} from "node:fs"
import { join } from "node:path"
import { workspacePathsAt } from "../../src/approval/PathTarget.ts"
import { ProtectedCopies } from "../../src/confinement/ProtectedCopies.ts"
import { openFolder } from "../Folder.ts"
import { request } from "../Samples.ts"

const allow: ApprovalAnswer = { decision: "allow", scope: "once" }
const SETTINGS = ".vscode/settings.json"

const open = () => {
  const folder = realpathSync(openFolder())
  const [workspace, copy] = [join(folder, "workspace"), join(folder, "copy")]
  mkdirSync(join(workspace, ".vscode", "sub"), { recursive: true })
  mkdirSync(copy)
  writeFileSync(join(workspace, SETTINGS), "old\n", { mode: 0o640 })
  writeFileSync(join(workspace, ".vscode", "sub", "a.json"), "a")
  writeFileSync(join(folder, "outside.txt"), "outside")
  let now = 1_000
  const copies = new ProtectedCopies(workspacePathsAt(workspace), () => now++)
  const mounts = copies.make(copy, [join(workspace, ".vscode")])
  const edit = (path: string, content: string, more: Partial<ApprovalRequest> = {}) =>
    copies.allow(request({ files: [path], input: { file_path: path, content }, ...more }), allow)
  /** As a hostile program of the run, which owns the copy. */
  const attack = (path: string, does: (path: string) => void) => {
    for (const inner of [".vscode", ".vscode/sub"])
      if (lstatSync(join(copy, inner), { throwIfNoEntry: false })?.isDirectory() === true)
        chmodSync(join(copy, inner), 0o755)
    does(join(copy, path))
  }
  const write = (path: string, content: string) =>
    attack(path, (file) => {
      if (existsSync(file)) chmodSync(file, 0o644)
      writeFileSync(file, content)
    })
  const content = (path: string) => readFileSync(join(workspace, path), "utf8")
  const discarded = () =>
    copies.discarded().map(({ change, discarded: isDiscarded, path }) => `${path} ${change} ${isDiscarded}`)
  return { attack, content, copies, copy, discarded, edit, folder, mounts, workspace, write }
}

describe("ProtectedCopies", () => {
  it("are closed until an approval names a file, and then only as far as it needs", () => {
    const { copy, edit, mounts, workspace } = open()
    assert.strictEqual(mounts.get(join(workspace, ".vscode")), join(copy, ".vscode"))
    const modeOf = (path: string) => statSync(join(copy, path)).mode & 0o777
    assert.deepStrictEqual([".vscode", SETTINGS, ".vscode/sub"].map(modeOf), [0o555, 0o444, 0o555])
    edit(SETTINGS, "new\n")
    assert.deepStrictEqual([".vscode", SETTINGS, ".vscode/sub"].map(modeOf), [0o755, 0o644, 0o555])
  })

  it("bring an approved edit to the workspace, with its permissions, once the runtime has made it", () => {
    const { content, copies, copy, discarded, edit, workspace, write } = open()
    edit(SETTINGS, "new\n")
    copies.settle()
    assert.strictEqual(content(SETTINGS), "old\n")
    write(SETTINGS, "new\n")
    copies.settle()
    assert.strictEqual(content(SETTINGS), "new\n")
    assert.strictEqual(statSync(join(workspace, SETTINGS)).mode & 0o777, 0o640)
    assert.strictEqual(statSync(join(copy, SETTINGS)).mode & 0o777, 0o444)
    assert.deepStrictEqual(discarded(), [])
  })

  it("bring a replacement, a new file, and a new file in a new folder", () => {
    const { content, copies, copy, discarded, edit, write } = open()
    edit(SETTINGS, "", { input: { file_path: SETTINGS, old_string: "old", new_string: "$&new" } })
    write(SETTINGS, "$&new\n")
    edit(".vscode/tasks.json", "{}")
    write(".vscode/tasks.json", "{}")
    edit(".vscode/deep/er/x.json", "x")
    mkdirSync(join(copy, ".vscode", "deep", "er"), { recursive: true })
    write(".vscode/deep/er/x.json", "x")
    copies.settle()
    assert.deepStrictEqual([SETTINGS, ".vscode/tasks.json", ".vscode/deep/er/x.json"].map(content), [
      "$&new\n",
      "{}",
      "x"
    ])
    assert.deepStrictEqual(discarded(), [])
  })

  it("bring what a patch shows, and nothing else that a runtime makes of it", () => {
    const { content, copies, discarded, edit, write } = open()
    const patch = `--- a/${SETTINGS}\n+++ b/${SETTINGS}\n@@ -1 +1,2 @@\n-old\n+new\n+more\n`
    const created = "--- /dev/null\n+++ b/.vscode/tasks.json\n@@ -0,0 +1,1 @@\n+{}\n"
    edit(SETTINGS, "", { patch, input: undefined })
    edit(".vscode/tasks.json", "", { patch: created, input: undefined })
    write(SETTINGS, "new\nmore\nevil\n")
    write(".vscode/tasks.json", "{}\n")
    copies.settle()
    assert.deepStrictEqual([SETTINGS, ".vscode/tasks.json"].map(content), ["old\n", "{}\n"])
    write(SETTINGS, "new\nmore\n")
    copies.settle()
    assert.strictEqual(content(SETTINGS), "new\nmore\n")
    assert.deepStrictEqual(discarded(), [])
  })

  it("keep out a change that no approval names, next to one that is approved, and report it", () => {
    const { content, copies, discarded, edit, workspace, write } = open()
    edit(SETTINGS, "new\n")
    write(SETTINGS, "new\n")
    write(".vscode/tasks.json", "evil")
    write(".vscode/sub/a.json", "evil")
    copies.settle()
    assert.strictEqual(content(".vscode/sub/a.json"), "a")
    assert.isFalse(existsSync(join(workspace, ".vscode", "tasks.json")))
    assert.deepStrictEqual(discarded(), [
      ".vscode/sub/a.json modified true",
      ".vscode/tasks.json created true"
    ])
  })

  it("keep out another content than the approved one, also afterwards", () => {
    const { content, copies, discarded, edit, write } = open()
    edit(SETTINGS, "new\n")
    write(SETTINGS, "evil\n")
    copies.settle()
    assert.strictEqual(content(SETTINGS), "old\n")
    assert.deepStrictEqual(discarded(), [`${SETTINGS} modified true`])
    write(SETTINGS, "new\n")
    copies.settle()
    write(SETTINGS, "evil\n")
    copies.settle()
    assert.strictEqual(content(SETTINGS), "new\n")
    assert.deepStrictEqual(discarded(), [`${SETTINGS} modified true`])
  })

  it.each(["file", "folder"])("follow no link to which the run changed the %s in its copy", (kind) => {
    const { attack, content, copies, discarded, edit, folder, write } = open()
    const path = kind === "file" ? SETTINGS : ".vscode/sub/outside.txt"
    const link = kind === "file" ? SETTINGS : ".vscode/sub"
    edit(path, "outside")
    attack(link, (at) => {
      rmSync(at, { recursive: true })
      symlinkSync(kind === "file" ? join(folder, "outside.txt") : folder, at)
    })
    copies.settle()
    assert.strictEqual(content(SETTINGS), "old\n")
    assert.isTrue(discarded().some((line) => line.startsWith(link)))
    edit(path, "changed")
    write(path, "changed")
    copies.settle()
    assert.strictEqual(content(SETTINGS), "old\n")
  })

  it("follow no link in the workspace that appeared after the approval", () => {
    const { copies, edit, folder, workspace, write } = open()
    edit(".vscode/sub/outside.txt", "new")
    write(".vscode/sub/outside.txt", "new")
    renameSync(join(workspace, ".vscode", "sub"), join(folder, "moved"))
    symlinkSync(folder, join(workspace, ".vscode", "sub"))
    copies.settle()
    assert.strictEqual(readFileSync(join(folder, "outside.txt"), "utf8"), "outside")
    edit(".vscode/sub/x/y.json", "new")
    copies.settle()
    assert.isFalse(existsSync(join(folder, "x")))
  })

  it("do not remove a file that the run removed, and report it", () => {
    const { attack, content, copies, discarded, edit } = open()
    edit(SETTINGS, "new\n")
    attack(SETTINGS, (path) => rmSync(path))
    copies.settle()
    assert.strictEqual(content(SETTINGS), "old\n")
    assert.deepStrictEqual(discarded(), [`${SETTINGS} deleted true`])
  })

  it("do not overwrite a change that a user made after the approval, or before it", () => {
    const { content, copies, edit, workspace, write } = open()
    edit(SETTINGS, "new\n")
    writeFileSync(join(workspace, SETTINGS), "mine\n")
    write(SETTINGS, "new\n")
    copies.settle()
    assert.strictEqual(content(SETTINGS), "mine\n")
    edit(".vscode/sub/a.json", "b")
    rmSync(join(workspace, ".vscode", "sub", "a.json"))
    write(".vscode/sub/a.json", "b")
    copies.settle()
    assert.isFalse(existsSync(join(workspace, ".vscode", "sub", "a.json")))
  })

  it.each<readonly [string, Partial<ApprovalRequest>, Partial<ApprovalAnswer>]>([
    ["a denial", {}, { decision: "deny" }],
    ["a command", { action: "shell", command: `cp x ${SETTINGS}` }, {}],
    ["two files", { files: [SETTINGS, "b"] }, {}],
    ["a read", { readsOnly: true }, {}],
    ["a patch", { input: { file_path: SETTINGS, patch: "@@" } }, {}],
    ["an edit that is not clear", { input: { old_string: "missing", new_string: "x" } }, {}],
    ["a path through another folder", { files: [`x/../.vscode/../${SETTINGS}/../../package.json`] }, {}]
  ])("are not opened by %s", (_, more, answer) => {
    const { content, copies, copy, write } = open()
    const input = { file_path: SETTINGS, content: "new\n" }
    copies.allow(request({ files: [SETTINGS], input, ...more }), { ...allow, ...answer })
    assert.strictEqual(statSync(join(copy, ".vscode")).mode & 0o777, 0o555)
    write(SETTINGS, "new\n")
    copies.settle()
    assert.strictEqual(content(SETTINGS), "old\n")
  })

  it("ignore the patch of an input that a user edited", () => {
    const { content, copies, write } = open()
    const patch = `--- a/${SETTINGS}\n+++ b/${SETTINGS}\n@@ -1 +1 @@\n-old\n+new\n`
    copies.allow(request({ files: [SETTINGS], patch }), { ...allow, updatedInput: { path: SETTINGS } })
    write(SETTINGS, "new\n")
    copies.settle()
    assert.strictEqual(content(SETTINGS), "old\n")
  })

  it("use the input that a user edited", () => {
    const { content, copies, write } = open()
    const input = { file_path: SETTINGS, content: "new\n" }
    copies.allow(request({ files: [SETTINGS], input }), {
      ...allow,
      updatedInput: { ...input, content: "edited\n" }
    })
    write(SETTINGS, "edited\n")
    copies.settle()
    assert.strictEqual(content(SETTINGS), "edited\n")
  })

  it("leave out a folder that is too large, has other kinds of files, or is a link", () => {
    const folder = realpathSync(openFolder())
    for (const name of [".idea", ".zed", ".qwen"]) mkdirSync(join(folder, name))
    writeFileSync(join(folder, ".idea", "large"), Buffer.alloc(3_000_000))
    for (let at = 0; at < 1_100; at++) writeFileSync(join(folder, ".zed", `${at}`), "")
    symlinkSync("/etc", join(folder, ".pi"))
    writeFileSync(join(folder, ".qwen", "settings.json"), "{}")
    symlinkSync("/etc/passwd", join(folder, ".qwen", "link"))
    const copy = join(folder, "copy")
    mkdirSync(copy)
    const paths = [".idea", ".zed", ".pi", ".qwen"].map((name) => join(folder, name))
    const mounts = new ProtectedCopies(workspacePathsAt(folder), () => 1).make(copy, paths)
    assert.deepStrictEqual([...mounts.keys()], [join(folder, ".qwen")])
    assert.isTrue(lstatSync(join(copy, ".qwen", "link")).isSymbolicLink())
    assert.isFalse(existsSync(join(copy, ".idea")))
  })
})
