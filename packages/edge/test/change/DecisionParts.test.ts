/** Hunks as a person edits them: line ends, ends of files, and what is no text. */
import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { editHunk } from "../../src/change/DecisionParts.ts"
import { applyHunks, type PatchHunk, type PatchLine } from "../../src/workspace/PatchHunks.ts"

const lineOf = (text: string): PatchLine => {
  const kind = text.charAt(0)
  assert.include([" ", "+", "-"], kind)
  return { kind: kind as PatchLine["kind"], bytes: Buffer.from(text.slice(1)) }
}

/** A hunk that begins at the first line. */
const hunkOf = (...texts: ReadonlyArray<string>): PatchHunk => {
  const lines = texts.map(lineOf)
  const oldLines = lines.filter(({ kind }) => kind !== "+").length
  const newLines = lines.filter(({ kind }) => kind !== "-").length
  return { oldStart: 1, oldLines, newStart: 1, newLines, lines }
}

const oldText = ({ lines }: PatchHunk): string =>
  lines.flatMap(({ bytes, kind }) => (kind === "+" ? [] : [bytes.toString("utf8")])).join("")

const edited = (hunk: PatchHunk, ...lines: ReadonlyArray<string>): string => {
  const found = editHunk(hunk, lines) ?? assert.fail("the hunk can be edited")
  assert.strictEqual(found.newLines, found.lines.filter(({ kind }) => kind !== "-").length)
  return applyHunks(Buffer.from(oldText(hunk)), [found]).toString("utf8")
}

describe("editHunk", () => {
  const hunk = hunkOf(" a\n", "-b\n", "+B\n", " c\n", "+d\n", " e\n")

  it("replaces the lines from the first to the last changed one", () => {
    assert.strictEqual(edited(hunk, "x", "y"), "a\nx\ny\ne\n")
    assert.strictEqual(edited(hunk), "a\ne\n")
    assert.strictEqual(edited(hunk, "B", "c", "d"), "a\nB\nc\nd\ne\n")
  })

  it("has the line ends of the hunk, and the end of the file as it is", () => {
    assert.strictEqual(edited(hunkOf(" a\r\n", "-b\r\n", "+B\r\n"), "x", "y\r"), "a\r\nx\r\ny\r\n")
    assert.strictEqual(edited(hunkOf(" a\n", "-b", "+B"), "x", "y"), "a\nx\ny")
    assert.strictEqual(edited(hunkOf(" a\n", "-b", "+B\n"), "x"), "a\nx\n")
    assert.strictEqual(edited(hunkOf("-b", "+B", "+C"), "x"), "x")
  })

  it("edits no bytes that are not UTF-8", () => {
    const latin: PatchLine = { kind: "+", bytes: Buffer.from("caf\xe9\n", "latin1") }
    assert.isUndefined(editHunk({ ...hunk, lines: [...hunk.lines, latin] }, ["x"]))
  })

  it("changes nothing if the lines stay as they are", () => {
    const word = fc.constantFrom("a", "b", "", "  c", "\td")
    const kind = fc.constantFrom(" ", "+", "-")
    fc.assert(
      fc.property(fc.array(fc.tuple(kind, word), { minLength: 1, maxLength: 12 }), (pairs) => {
        const some = hunkOf(...pairs.map(([mark, text]) => `${mark}${text}\n`))
        const first = some.lines.findIndex((each) => each.kind !== " ")
        fc.pre(first !== -1)
        const last = some.lines.findLastIndex((each) => each.kind !== " ")
        const same = some.lines
          .slice(first, last + 1)
          .flatMap((each) => (each.kind === "-" ? [] : [each.bytes.toString("utf8").slice(0, -1)]))
        const base = Buffer.from(oldText(some))
        assert.strictEqual(edited(some, ...same), applyHunks(base, [some]).toString("utf8"))
      })
    )
  })
})
