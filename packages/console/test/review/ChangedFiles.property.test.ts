/** Rows of the tree of changed files. */
import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { cpuMillisOf } from "@corral/testing/process/ProcessCosts"
import { type TreeRow, changedTree } from "../../src/review/ChangedFiles.tsx"
import { changedFile } from "./files.ts"

const path = fc
  .array(fc.constantFrom("a", "b", "src", "__proto__", "时间"), { minLength: 1, maxLength: 5 })
  .map((names) => `${names.join("/")}.ts`)
const files = fc.uniqueArray(path, { maxLength: 20 }).map((paths) =>
  paths.map((each, at) =>
    changedFile(
      each,
      Array.from({ length: at }, () => "+x")
    )
  )
)

const show = (rows: ReadonlyArray<TreeRow>): ReadonlyArray<string> =>
  rows.map((row) => `${"  ".repeat(row.depth)}${row.name}${row.kind === "folder" ? "/" : ""}`)

const open = () => false

describe("changedTree", () => {
  it("has every file once, below the folders of its path", () => {
    fc.assert(
      fc.property(files, (all) => {
        const above: Array<string> = []
        const found = changedTree(all, open).flatMap((row) => {
          above.length = row.depth
          above.push(row.name)
          return row.kind === "file" ? [[above.join("/"), row.file.path]] : []
        })
        assert.strictEqual(found.length, all.length)
        for (const [walked, expected] of found) assert.strictEqual(walked, expected)
      })
    )
  })

  it("counts the lines of a folder, and shows no folder that has only a folder", () => {
    fc.assert(
      fc.property(files, (all) => {
        const rows = changedTree(all, open)
        rows.forEach((row, at) => {
          if (row.kind === "file") return
          const inside = all.filter((file) => file.path.startsWith(`${row.path}/`))
          assert.strictEqual(
            row.additions,
            inside.reduce((sum, { additions }) => sum + additions, 0)
          )
          const next = rows[at + 1]
          const children = rows.filter(
            (each) =>
              each.depth === row.depth + 1 && rows.indexOf(each) > at && isBelow(rows, at, rows.indexOf(each))
          )
          assert.isFalse(children.length === 1 && next?.kind === "folder")
        })
      })
    )
  })

  it("joins folders with one child, sorts folders first, and hides what is in a closed one", () => {
    const all = [
      "z.ts",
      "src/app/deep/two.ts",
      "src/app/deep/one.ts",
      "src/app/b/three.ts",
      "lib/x/y/four.ts"
    ].map((each) => changedFile(each, ["+x"]))
    assert.deepStrictEqual(show(changedTree(all, open)), [
      "lib/x/y/",
      "  four.ts",
      "src/app/",
      "  b/",
      "    three.ts",
      "  deep/",
      "    one.ts",
      "    two.ts",
      "z.ts"
    ])
    assert.deepStrictEqual(show(changedTree(all, (folder) => folder === "src/app")), [
      "lib/x/y/",
      "  four.ts",
      "src/app/",
      "z.ts"
    ])
  })

  it("handles deep and many paths quickly", () => {
    const deep = changedFile(`${"a/".repeat(2_000)}x.ts`, ["+x"])
    const many = Array.from({ length: 10_000 }, (_, nth) =>
      changedFile(`d${nth % 100}/e${nth % 7}/f${nth}.ts`, ["+x"])
    )
    const millis = cpuMillisOf(() => {
      assert.strictEqual(changedTree([deep], open).length, 2)
      assert.isAbove(changedTree(many, open).length, 10_000)
    })
    assert.isBelow(millis, 1_000)
  })
})

/** Whether a later row is inside the folder at `at`. */
const isBelow = (rows: ReadonlyArray<TreeRow>, at: number, later: number): boolean =>
  rows.slice(at + 1, later + 1).every((row) => row.depth > (rows[at]?.depth ?? 0))
