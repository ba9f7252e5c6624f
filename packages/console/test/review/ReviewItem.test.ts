/** Items of the list of changes. */
import { assert, describe, it } from "@effect/vitest"
import type { FileDiff } from "@corral/domain/edge-api/Diff"
import { cpuMillisOf } from "@corral/testing/process/ProcessCosts"
import type { LineComment, PlacedComment } from "../../src/review/LineComment.ts"
import { NEW_COMMENT, type ReviewItem, reviewItems, type ReviewState } from "../../src/review/ReviewItem.ts"
import type { ReviewFile } from "../../src/review/useChanges.ts"
import { changedFile } from "./files.ts"

const of = (diff: FileDiff): ReviewFile => ({ diff, hash: diff.path })
const state = (more: Partial<ReviewState> = {}): ReviewState => ({
  layout: "unified",
  isOpen: () => true,
  comments: [],
  draft: undefined,
  ...more
})
const show = (items: ReadonlyArray<ReviewItem>): ReadonlyArray<string> =>
  items.map((item) => {
    if (item.kind === "file") return item.file.diff.path
    if (item.kind === "note") return `(${item.note})`
    if (item.kind === "comment") return `"${item.placed.comment.text}"`
    if (item.kind === "row")
      return item.row.kind === "line" ? item.row.side.mark + item.row.side.text : item.row.kind
    return item.kind
  })

const comment = (id: string, path: string, line: number, isPlaced = true): PlacedComment => {
  const span = { from: { side: "new", line }, to: { side: "new", line } } as const
  const placed: LineComment = { ...span, id, path, quote: ["+x"], text: id }
  return { comment: placed, span: isPlaced ? span : undefined }
}

describe("reviewItems", () => {
  it("have comments and the draft below their lines, in both layouts", () => {
    const file = of(changedFile("a.ts", [" a", "-b", "+B", " c"]))
    const written = comment(NEW_COMMENT, "a.ts", 2)
    const more = { comments: [comment("why?", "a.ts", 2), written], draft: written.comment }
    assert.deepStrictEqual(show(reviewItems([file], state(more))), [
      "a.ts",
      "hunk",
      " a",
      "-b",
      "+B",
      '"why?"',
      "draft",
      " c"
    ])
    assert.deepStrictEqual(show(reviewItems([file], state({ ...more, layout: "split" }))), [
      "a.ts",
      "hunk",
      "pair",
      "pair",
      '"why?"',
      "draft",
      "pair"
    ])
  })

  it("have the field instead of the comment that is changed", () => {
    const file = of(changedFile("a.ts", ["+a"]))
    const placed = comment("why?", "a.ts", 1)
    const items = reviewItems([file], state({ comments: [placed], draft: placed.comment }))
    assert.deepStrictEqual(show(items), ["a.ts", "hunk", "+a", "draft"])
  })

  it("show comments whose lines or files are gone", () => {
    const file = of(changedFile("a.ts", ["+a"]))
    const comments = [comment("moved", "a.ts", 9, false), comment("lost", "b.ts", 1, false)]
    assert.deepStrictEqual(show(reviewItems([file], state({ comments, isOpen: () => false }))), [
      "lost",
      '"lost"',
      "a.ts",
      '"moved"'
    ])
  })

  it("have a sentence for files without lines", () => {
    const without = (path: string, more: Partial<FileDiff>) =>
      of(changedFile(path, [], { hunks: [], ...more }))
    const files = [
      without("binary", { binary: true }),
      without("renamed", { status: "renamed", fromPath: "before" }),
      without("mode", {}),
      without("empty", { status: "added" }),
      without("cut", { truncated: true, additions: 9 })
    ]
    assert.deepStrictEqual(show(reviewItems(files, state())), [
      "binary",
      "(binary)",
      "renamed",
      "(renamed)",
      "mode",
      "(mode)",
      "empty",
      "(empty)",
      "cut",
      "(truncated)"
    ])
  })

  it("have a button for a large file that is folded", () => {
    const file = of(
      changedFile(
        "a.ts",
        Array.from({ length: 401 }, () => "+x")
      )
    )
    assert.deepStrictEqual(show(reviewItems([file], state({ isOpen: () => false }))), ["a.ts", "(large)"])
  })

  it("have unique keys and the same rows after a comment", () => {
    const file = of(changedFile("a.ts", [" a", "+b", " c"]))
    const before = reviewItems([file], state())
    const after = reviewItems([file], state({ comments: [comment("why?", "a.ts", 2)] }))
    assert.strictEqual(new Set(after.map(({ key }) => key)).size, after.length)
    assert.deepStrictEqual(
      after.filter(({ kind }) => kind === "row"),
      before.filter(({ kind }) => kind === "row")
    )
    assert.strictEqual(after[1], before[1])
  })

  it("handle 200 files of 400 lines quickly", () => {
    const lines = Array.from({ length: 400 }, (_, nth) => `${nth % 3 === 0 ? "-" : "+"}line ${nth}`)
    const files = Array.from({ length: 200 }, (_, nth) => of(changedFile(`f${nth}.ts`, lines)))
    const first = cpuMillisOf(() => assert.strictEqual(reviewItems(files, state()).length, 200 * 402))
    assert.isBelow(first, 3_000)
    const second = cpuMillisOf(
      () => void reviewItems(files, state({ comments: [comment("why?", "f0.ts", 2)] }))
    )
    assert.isBelow(second, 3_000)
  })
})
