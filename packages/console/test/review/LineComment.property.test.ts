/** Places of comments in a diff that changes. */
import { assert, describe, it } from "@effect/vitest"
import type { FileDiff } from "@corral/domain/edge-api/Diff"
import * as fc from "fast-check"
import {
  type LineComment,
  linesInSpan,
  type LineRef,
  placeComment,
  placedComment,
  spanOf
} from "../../src/review/LineComment.ts"
import { changedFile } from "./files.ts"

const commentOn = (file: FileDiff, one: LineRef, other: LineRef): LineComment => {
  const span = spanOf(file, one, other)
  assert.isDefined(span)
  return { ...span, id: "c", path: file.path, text: "why?" }
}

const patchLines = fc.array(
  fc
    .tuple(fc.constantFrom(" ", "+", "-"), fc.string({ maxLength: 3 }))
    .map(([mark, text]) => mark + text.replaceAll(/\n/g, "")),
  { minLength: 1, maxLength: 25 }
)

/** The line of each line of a patch. */
const refsOf = (lines: ReadonlyArray<string>): ReadonlyArray<LineRef> => {
  let [old, now] = [0, 0]
  return lines.map((line): LineRef => {
    if (line[0] !== "+") old++
    if (line[0] !== "-") now++
    return line[0] === "-" ? { side: "old", line: old } : { side: "new", line: now }
  })
}

describe("comments on lines", () => {
  it("are at their lines while the diff stays the same", () => {
    fc.assert(
      fc.property(patchLines, fc.nat(), fc.nat(), (lines, first, second) => {
        const refs = refsOf(lines)
        const [one, other] = [refs[first % lines.length], refs[second % lines.length]]
        assert(one !== undefined && other !== undefined)
        const file = changedFile("a.ts", lines)
        const comment = commentOn(file, one, other)
        assert.deepStrictEqual(placeComment(file, comment), { from: comment.from, to: comment.to })
        assert.deepStrictEqual(spanOf(file, other, one), spanOf(file, one, other))
      })
    )
  })

  it("follow their lines, and take the nearest of equal ones", () => {
    const before = changedFile("a.ts", [" one", "+two", " three"])
    const comment = commentOn(before, { side: "new", line: 2 }, { side: "new", line: 2 })
    const moved = changedFile("a.ts", ["+zero", "+half", " one", "+two", " three"])
    assert.deepStrictEqual(placeComment(moved, comment), {
      from: { side: "new", line: 4 },
      to: { side: "new", line: 4 }
    })
    const twice = changedFile("a.ts", [" one", " x", "+two", " three", " four", "+two"])
    assert.strictEqual(placeComment(twice, comment)?.from.line, 3)
    // The next turn did not change the line, and shows it as context.
    const context = changedFile("a.ts", [" two", "+more"])
    assert.strictEqual(placeComment(context, comment)?.from.line, 1)
    assert.isUndefined(placeComment(changedFile("a.ts", [" one", "+2", " three"]), comment))
    assert.isUndefined(placeComment(changedFile("a.ts", [" one", "-two", " three"]), comment))
  })

  it("contain the lines of one side, or all lines between two sides", () => {
    const file = changedFile("a.ts", [" a", "-b", "-c", "+B", "+C", " d"])
    const added = commentOn(file, { side: "new", line: 1 }, { side: "new", line: 4 })
    assert.deepStrictEqual(added.quote, [" a", "+B", "+C", " d"])
    const removed = commentOn(file, { side: "old", line: 3 }, { side: "old", line: 2 })
    assert.deepStrictEqual(removed.quote, ["-b", "-c"])
    assert.deepStrictEqual(placeComment(file, removed), { from: removed.from, to: removed.to })
    const mixed = commentOn(file, { side: "old", line: 2 }, { side: "new", line: 2 })
    assert.deepStrictEqual(mixed.quote, ["-b", "-c", "+B"])
    assert.deepStrictEqual([...linesInSpan(file, mixed)], ["old 2", "old 3", "new 2"])
    assert.isUndefined(spanOf(file, { side: "new", line: 1 }, { side: "new", line: 99 }))
  })

  it("quote a bounded part of long ranges and lines, and keep their place", () => {
    const lines = Array.from({ length: 60 }, (_, nth) => `+${String(nth).padEnd(900, "x")}`)
    const file = changedFile("a.ts", lines)
    const comment = commentOn(file, { side: "new", line: 3 }, { side: "new", line: 50 })
    assert.strictEqual(comment.quote.length, 12)
    assert.isBelow(comment.quote.join("").length, 12 * 402)
    const moved = changedFile("a.ts", ["+first", ...lines])
    assert.deepStrictEqual(placeComment(moved, comment), {
      from: { side: "new", line: 4 },
      to: { side: "new", line: 51 }
    })
  })

  it("keeps its lines while its file is not loaded, and loses them only where all changes are", () => {
    const file = changedFile("a.ts", ["+a", "+b"])
    const ref: LineRef = { side: "new", line: 2 }
    const comment = commentOn(file, ref, ref)
    assert.deepStrictEqual(placedComment(comment, undefined, false).span, { from: ref, to: ref })
    assert.isUndefined(placedComment(comment, undefined, true).span)
    assert.deepStrictEqual(placedComment(comment, file, false).span, { from: ref, to: ref })
    assert.isUndefined(placedComment(comment, changedFile("a.ts", ["+c"]), false).span)
  })
})
