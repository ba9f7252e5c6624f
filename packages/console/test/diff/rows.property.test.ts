/** Rows of a diff: every line once, with its numbers, in either layout. */
import { assert, describe, it } from "@effect/vitest"
import type { DiffHunk } from "@corral/domain/edge-api/Diff"
import * as fc from "fast-check"
import { cpuMillisOf } from "@corral/testing/process/ProcessCosts"
import { languageOfFile } from "../../src/diff/languageOfFile.ts"
import { parsePatch } from "@corral/domain/edge-api/ParsedPatch"
import { type DiffEntry, rowsOf } from "../../src/diff/rows.ts"

const line = fc
  .tuple(fc.constantFrom(" ", "+", "-"), fc.string({ maxLength: 8 }))
  .map(([mark, text]) => mark + text.replaceAll(/\n/g, ""))
const hunk = fc
  .record({
    oldStart: fc.integer({ min: 1, max: 999 }),
    newStart: fc.integer({ min: 1, max: 999 }),
    lines: fc.array(line, { minLength: 1, maxLength: 30 })
  })
  .map((of): DiffHunk => ({
    ...of,
    oldLines: of.lines.filter((one) => one[0] !== "+").length,
    newLines: of.lines.filter((one) => one[0] !== "-").length
  }))

const sideOf = (rows: ReadonlyArray<DiffEntry>, side: "old" | "new"): Array<string> =>
  rows.flatMap((row) => {
    if (row.kind === "pair") return row[side] === undefined ? [] : [`${row[side].number} ${row[side].text}`]
    if (row.kind === "line") return row[side] === undefined ? [] : [`${row[side]} ${row.side.text}`]
    return []
  })

describe("rows of a diff", () => {
  it("contain the old and the new file in both layouts", () => {
    fc.assert(
      fc.property(fc.array(hunk, { maxLength: 4 }), (hunks) => {
        const [unified, split] = [rowsOf(hunks, "unified"), rowsOf(hunks, "split")]
        for (const side of ["old", "new"] as const) {
          const removed = side === "old" ? "+" : "-"
          const expected = hunks.flatMap(({ lines, newStart, oldStart }) =>
            lines
              .filter((one) => one[0] !== removed)
              .map((one, at) => `${(side === "old" ? oldStart : newStart) + at} ${one.slice(1)}`)
          )
          assert.deepStrictEqual(sideOf(unified, side), expected)
          assert.deepStrictEqual(sideOf(split, side), expected)
        }
      })
    )
  })

  it("pair removals with the additions after them, and never with the additions before them", () => {
    const hunks = [
      { oldStart: 1, newStart: 1, oldLines: 3, newLines: 3, lines: ["+a", "-b", "-c", "+d", "+e", "-f"] }
    ]
    const pairs = rowsOf(hunks, "split").flatMap((row) =>
      row.kind === "pair" ? [[row.old?.text, row.new?.text]] : []
    )
    assert.deepStrictEqual(pairs, [
      [undefined, "a"],
      ["b", "d"],
      ["c", "e"],
      ["f", undefined]
    ])
  })

  it("know the line that a line replaces, in both layouts", () => {
    fc.assert(
      fc.property(fc.array(hunk, { maxLength: 4 }), (hunks) => {
        const pairs = rowsOf(hunks, "split").flatMap((row) => (row.kind === "pair" ? [row] : []))
        for (const { new: now, old } of pairs) {
          const isChange = old?.mark === "-" && now?.mark === "+"
          assert.strictEqual(old?.other, isChange ? now.text : undefined)
          assert.strictEqual(now?.other, isChange ? old.text : undefined)
        }
        const sides = rowsOf(hunks, "unified").flatMap((row) => (row.kind === "line" ? [row.side] : []))
        for (const mark of ["-", "+"] as const) {
          const inPairs = pairs
            .flatMap(({ new: now, old }) => [old, now])
            .filter((side) => side?.mark === mark)
          assert.deepStrictEqual(
            sides.filter((side) => side.mark === mark),
            inPairs
          )
        }
      })
    )
  })

  it("are the same from the text of a patch and from its hunks", () => {
    fc.assert(
      fc.property(fc.array(hunk, { minLength: 1, maxLength: 3 }), (hunks) => {
        const text = hunks.map(
          ({ lines, newLines, newStart, oldLines, oldStart }) =>
            `@@ -${oldStart},${oldLines} +${newStart},${newLines} @@ f\n${lines.join("\n")}`
        )
        assert.deepStrictEqual(parsePatch(`--- a/x\n+++ b/x\n${text.join("\n")}\n`), hunks)
      })
    )
    assert.isUndefined(parsePatch("not a patch"))
    assert.deepStrictEqual(parsePatch("@@ -0,0 +1 @@\n+a\n\\ No newline at end of file\n")?.[0]?.lines, [
      "+a",
      "\\ No newline at end of file"
    ])
  })

  it("contain what there is of a patch that was cut or has wrong counts", () => {
    const linesOf = (patch: string) => parsePatch(patch)?.map(({ lines }) => lines)
    assert.deepStrictEqual(linesOf("--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n a\n-b\n+c"), [[" a", "-b", "+c"]])
    const wrong = "@@ -1,1 +1,1 @@\n-a\n-b\n+c\n--- a/y\n+++ b/y\n@@ -5 +5 @@\n-d\n+e\n"
    assert.deepStrictEqual(linesOf(`--- a/x\n+++ b/x\n${wrong}`), [
      ["-a", "-b", "+c"],
      ["-d", "+e"]
    ])
    assert.deepStrictEqual(linesOf("@@ -1 +1 @@\n\\ No newline at end of file\n-a\n+b\n"), [
      ["\\ No newline at end of file", "-a", "+b"]
    ])
  })

  it("handles a megabyte of hostile patch quickly", () => {
    for (const patch of [
      `diff ${"a/".repeat(524_288)}`,
      `diff --git a/${" b/".repeat(349_525)}`,
      `@@ -${"1".repeat(1_048_576)}`,
      "@@ -1 +1 @@\n".repeat(80_000),
      `@@ -1,999999999 +1 @@\n${" \n".repeat(524_288)}`
    ]) {
      assert.isBelow(
        cpuMillisOf(() => void parsePatch(patch)),
        2_000
      )
    }
  })

  it("handles ten thousand lines quickly", () => {
    const lines = Array.from(
      { length: 10_000 },
      (_, at) => `${at % 3 === 0 ? "+" : at % 3 === 1 ? "-" : " "}line ${at}`
    )
    const hunk = { oldStart: 1, oldLines: 1, newStart: 1, newLines: 1, lines }
    const millis = cpuMillisOf(() => assert.isAbove(rowsOf([hunk], "split").length, 5_000))
    assert.isBelow(millis, 500)
  })

  it("detects languages by file name", () => {
    assert.deepStrictEqual(["a.ts", "b/c.PY", "Makefile", "x.constructor"].map(languageOfFile), [
      "typescript",
      "python",
      undefined,
      undefined
    ])
  })
})
