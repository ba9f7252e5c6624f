import { assert, describe, it } from "@effect/vitest"
import { homedir } from "node:os"
import { join } from "node:path"
import { AttachedFiles, type LocalFile, typedPath } from "../../src/attachment/LocalFile.ts"

const file = (name: string): LocalFile => ({
  name,
  mediaType: "text/plain",
  bytes: 1,
  content: new Blob(["a"])
})

describe("AttachedFiles", () => {
  it("removes a file by its name, or all files", () => {
    const files = new AttachedFiles()
    for (const name of ["a", "b", "c"]) assert.isUndefined(files.add(file(name)))
    assert.strictEqual(files.remove("b"), "Removed: b")
    assert.deepStrictEqual(
      files.files.map(({ name }) => name),
      ["a", "c"]
    )
    assert.strictEqual(files.remove("b"), "The message has no file b.")
    assert.strictEqual(files.remove(""), "Removed: a, c")
    assert.strictEqual(files.remove(""), "The message has no files.")
  })

  it("takes up to 10 files, and gives them to one message", () => {
    const files = new AttachedFiles()
    for (let n = 0; n < 10; n++) assert.isUndefined(files.add(file(`${n}`)))
    assert.strictEqual(files.add(file("10")), "A message takes up to 10 files.")
    assert.strictEqual(files.take().length, 10)
    assert.deepStrictEqual(files.files, [])
  })

  it.each([
    ["notes.md", "notes.md"],
    ["'my notes.md'", "my notes.md"],
    ['"my notes.md"', "my notes.md"],
    ["my\\ notes.md", "my notes.md"],
    ["~/notes.md", join(homedir(), "notes.md")],
    ["", ""]
  ])("reads the path %s", (text, path) => {
    assert.strictEqual(typedPath(text), path)
  })
})
