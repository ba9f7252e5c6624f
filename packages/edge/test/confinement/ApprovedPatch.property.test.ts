/** Patches of approvals: a patch of the file gives what it shows, and every other patch gives nothing. */
import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { patchedContent } from "../../src/confinement/ApprovedFiles.ts"

const FILE = ".vscode/settings.json"
const HEADER = `--- a/${FILE}\n+++ b/${FILE}\n`

type Edit = "keep" | "remove" | "replace" | "insert"

interface Row {
  readonly line: string
  readonly edit: Edit
}

const row = fc.record<Row>({
  line: fc.constantFrom("", "a", "b", "-c", "+d", "@@ -1 +1 @@", "\\ x", " e"),
  edit: fc.constantFrom("keep", "keep", "remove", "replace", "insert")
})

/** Lines of one row in a hunk. */
const shown = ({ edit, line }: Row): ReadonlyArray<string> => {
  switch (edit) {
    case "keep":
      return [` ${line}`]
    case "remove":
      return [`-${line}`]
    case "replace":
      return [`-${line}`, `+new ${line}`]
    case "insert":
      return [` ${line}`, `+more ${line}`]
  }
}

const count = (lines: ReadonlyArray<string>, other: string) =>
  lines.filter((line) => line[0] !== other).length

/** The file before and after, and its patch with a hunk for each `size` rows. */
const scene = (rows: ReadonlyArray<Row>, size: number) => {
  let [before, after, patch] = ["", "", HEADER]
  let [oldLine, newLine] = [1, 1]
  for (let at = 0; at < rows.length; at += size) {
    const lines = rows.slice(at, at + size).flatMap(shown)
    const [old, now] = [count(lines, "+"), count(lines, "-")]
    patch += `@@ -${oldLine},${old} +${newLine - (now === 0 ? 1 : 0)},${now} @@\n${lines.join("\n")}\n`
    for (const line of lines) {
      if (line[0] !== "+") before += `${line.slice(1)}\n`
      if (line[0] !== "-") after += `${line.slice(1)}\n`
    }
    oldLine += old
    newLine += now
  }
  return { before, after, patch }
}

describe("patchedContent", () => {
  it("gives the content that the patch shows", () => {
    fc.assert(
      fc.property(
        fc.array(row, { minLength: 1, maxLength: 12 }),
        fc.integer({ min: 1, max: 5 }),
        (rows, size) => {
          const { after, before, patch } = scene(rows, size)
          assert.strictEqual(patchedContent(patch, FILE, before), after)
        }
      )
    )
  })

  it("gives nothing if the file is another one than the patch was made for", () => {
    fc.assert(
      fc.property(fc.array(row, { minLength: 1, maxLength: 12 }), fc.nat(), (rows, which) => {
        const { before, patch } = scene(rows, rows.length)
        const lines = before.split("\n")
        lines[which % (lines.length - 1)] += "!"
        assert.isUndefined(patchedContent(patch, FILE, lines.join("\n")))
      })
    )
  })

  it("gives nothing for a patch that is cut, of another file, or with more than hunks", () => {
    const { before, patch } = scene([{ line: "a", edit: "replace" }], 1)
    assert.strictEqual(patchedContent(patch, FILE, before), "new a\n")
    for (const other of [
      patch.slice(0, -3),
      HEADER,
      "",
      patch.replaceAll(FILE, ".vscode/tasks.json"),
      `${patch}${patch}`,
      `${patch}deleted file mode 100644\n`,
      `diff --git a/x b/x\n${patch}`
    ])
      assert.isUndefined(patchedContent(other, FILE, before), other)
    assert.isUndefined(patchedContent(patch, FILE, undefined))
  })

  it("finds a part without its position, if its old lines are in the file once", () => {
    const part = `${HEADER}@@ -1,2 +1,1 @@\n b\n-c\n`
    assert.strictEqual(patchedContent(part, FILE, "a\nb\nc\nd\n"), "a\nb\nd\n")
    assert.strictEqual(patchedContent(part, FILE, "a\nb\nc\n"), "a\nb\n")
    assert.isUndefined(patchedContent(part, FILE, "a\nb\nc\nb\nc\n"), "twice")
    assert.isUndefined(patchedContent(part, FILE, "a\nab\nc\n"), "not a whole line")
    assert.isUndefined(patchedContent(part, FILE, "a\nb\ncd\n"), "not a whole line")
    assert.isUndefined(patchedContent(part, FILE, "a\nb\nc"), "without the end of its line")
    const two = `${part}@@ -9,1 +9,1 @@\n-d\n+e\n`
    assert.isUndefined(patchedContent(two, FILE, "a\nb\nc\nd\n"), "two parts")
  })

  it("makes a new file, and keeps a last line without its end", () => {
    const created = `--- /dev/null\n+++ b/${FILE}\n@@ -0,0 +1,2 @@\n+{\n+}\n`
    assert.strictEqual(patchedContent(created, FILE, undefined), "{\n}\n")
    assert.isUndefined(patchedContent(created, FILE, "{\n}\n"))
    const open = `${HEADER}@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n`
    assert.strictEqual(patchedContent(open, FILE, "a"), "b\n")
    assert.isUndefined(patchedContent(open, FILE, "a\n"))
    // A line without an end in the middle of a file would join two lines.
    assert.isUndefined(patchedContent(`${HEADER}@@ -1 +1 @@\n-a\n+b\n\\ x\n`, FILE, "a\nc\n"))
  })
})
