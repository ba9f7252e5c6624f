import { assert, describe, it } from "@effect/vitest"
import type { ChangedFile, ChangeHunk } from "@corral/domain/edge-api/ChangeSet"
import * as fc from "fast-check"
import type { PlacedComment } from "../../src/review/LineComment.ts"
import { conflictRegion } from "../../src/review/ConflictView.tsx"
import { reviewMessages } from "../../src/review/messages.ts"
import {
  apartLast,
  commentsOn,
  editedLines,
  isBlankChange,
  rejectionComments,
  selectionOf,
  setFile,
  withoutOverlap
} from "../../src/review/setFiles.ts"

const words = reviewMessages.en.message

const hunk = (nth: number, start: number, lines: ReadonlyArray<string>): ChangeHunk => ({
  id: `chk_${nth}` as ChangeHunk["id"],
  oldStart: start,
  oldLines: lines.filter((line) => line[0] !== "+").length,
  newStart: start,
  newLines: lines.filter((line) => line[0] !== "-").length,
  lines
})

const changed = (fields: Partial<ChangedFile> = {}): ChangedFile => ({
  id: "chf_1" as ChangedFile["id"],
  path: "hours.js",
  status: "modified",
  binary: false,
  additions: 2,
  deletions: 2,
  hunks: 2,
  version: "v1",
  ...fields
})

const comment = (line: number, text: string, path = "hours.js"): PlacedComment => {
  const span = { from: { side: "new", line }, to: { side: "new", line } } as const
  return { comment: { ...span, id: `${path} ${line}`, path, quote: [], text }, span }
}

describe("isBlankChange", () => {
  it("holds for hunks that differ only in white space, also over lines", () => {
    assert.isTrue(isBlankChange({ lines: [" a", "-[1,2]", "+[ 1, 2 ]"] }))
    assert.isTrue(isBlankChange({ lines: ["-f(a, b)", "+f(", "+  a, b)"] }))
    assert.isTrue(isBlankChange({ lines: [" a", "+", " b"] }))
    assert.isFalse(isBlankChange({ lines: ["-a b", "+a c"] }))
  })
})

describe("withoutOverlap", () => {
  it("shows each unchanged line once, and every change", () => {
    const counts = fc.array(fc.tuple(fc.nat(6), fc.nat(6), fc.integer({ min: 1, max: 5 })), { maxLength: 6 })
    fc.assert(
      fc.property(counts, fc.nat(12), (gaps, context) => {
        // Changes of one line each, `gap` lines apart, with more context than the gap has.
        let line = 1
        const hunks = gaps.map(([gap], nth) => {
          const before = gap
          const start = line
          line += gap + 1
          const from = Math.max(nth === 0 ? 1 : start, start + before - context)
          const above = Array.from({ length: start + before - from }, (_, at) => ` ${from + at}`)
          const next = gaps[nth + 1]?.[0] ?? 0
          const below = Array.from({ length: Math.min(next, context) }, (_, at) => ` ${line + at}`)
          return hunk(nth, from, [...above, `-${start + before}`, `+${start + before}`, ...below])
        })
        const shown = withoutOverlap(hunks)
        const unchanged = shown.flatMap(({ lines }) => lines.filter((text) => text[0] === " "))
        assert.strictEqual(new Set(unchanged).size, unchanged.length)
        const changes = (of: ReadonlyArray<ChangeHunk>) =>
          of.flatMap(({ lines }) => lines.filter((text) => text[0] !== " "))
        assert.deepStrictEqual(changes(shown), changes(hunks))
        assert.deepStrictEqual(
          shown.map(({ id }) => id),
          hunks.map(({ id }) => id)
        )
        for (const { lines, oldLines, oldStart } of shown) {
          assert.strictEqual(lines.filter((text) => text[0] !== "+").length, oldLines)
          assert.strictEqual(lines.find((text) => text[0] !== "+")?.slice(1), String(oldStart))
        }
      })
    )
  })
})

const content = {
  hunks: [hunk(1, 1, ["-a", "+b"]), hunk(2, 20, ["-[1]", "+[ 1 ]"])],
  isCut: false
}

describe("setFile", () => {
  it("is the same file while nothing of it changes, so that its rows do not render again", () => {
    const file = changed()
    assert.strictEqual(setFile(file, undefined, false), setFile(file, undefined, true))
    assert.strictEqual(setFile(file, content, false), setFile({ ...file }, content, false))
    assert.notStrictEqual(setFile(file, content, false), setFile(file, content, true))
  })

  it("folds hunks that differ only in white space, and keeps all ids", () => {
    const shown = setFile(changed(), content, true)
    assert.deepStrictEqual([...(shown.parts?.folded ?? [])], ["chk_2"])
    assert.deepStrictEqual<unknown>(shown.parts?.hunkIds, ["chk_1", "chk_2"])
    assert.deepStrictEqual(shown.diff.hunks.length, 2)
  })

  it("puts files that are apart last, in their order", () => {
    const files = [
      changed({ path: "a", apart: ["secret"] }),
      changed({ path: "b" }),
      changed({ path: "c", apart: ["set_id"] }),
      changed({ path: "d" })
    ]
    assert.deepStrictEqual(
      apartLast(files).map(({ path }) => path),
      ["b", "d", "a", "c"]
    )
  })

  it("names a hunk by its id, and a file with the version that was shown", () => {
    const file = setFile(changed(), content, false)
    assert.deepStrictEqual<unknown>(selectionOf({ file, hunkId: "chk_2" as never }, changed()), {
      hunks: ["chk_2"]
    })
    assert.deepStrictEqual<unknown>(selectionOf({ file }, changed()), {
      files: ["chf_1"],
      versions: { chf_1: "v1" }
    })
  })

  it("finds the comments on a hunk by their lines", () => {
    const file = setFile(changed(), content, false)
    const comments = [comment(1, "one"), comment(20, "twenty"), comment(1, "other", "other.js")]
    const textsOn = (hunkId?: string) =>
      commentsOn(hunkId === undefined ? { file } : { file, hunkId: hunkId as never }, comments).map(
        (placed) => placed.comment.text
      )
    assert.deepStrictEqual(textsOn("chk_1"), ["one"])
    assert.deepStrictEqual(textsOn("chk_2"), ["twenty"])
    assert.deepStrictEqual(textsOn(), ["one", "twenty"])
  })
})

describe("rejectionComments", () => {
  const file = setFile(changed(), content, false)
  const of = (comments: ReadonlyArray<ReturnType<typeof comment>>) =>
    rejectionComments([file], comments, words)

  it("names the hunk of the lines, or the file", () => {
    const { comments, ids } = of([comment(20, "twenty"), comment(999, "elsewhere")])
    assert.deepStrictEqual<unknown>(comments, [
      { hunkId: "chk_2", text: "line 20: twenty" },
      { fileId: "chf_1", text: "line 999: elsewhere" }
    ])
    assert.strictEqual(ids.size, 2)
  })

  it("has a suggestion without a text", () => {
    const placed = comment(20, "")
    const { comments } = of([{ ...placed, comment: { ...placed.comment, suggestion: ["a", "b"] } }])
    assert.deepStrictEqual<unknown>(comments, [{ hunkId: "chk_2", text: "", suggestion: ["a", "b"] }])
  })

  it("leaves a suggestion without a text whose lines are gone: a file has no suggestion", () => {
    const placed = comment(999, "")
    const { comments, ids } = of([{ ...placed, comment: { ...placed.comment, suggestion: ["a"] } }])
    assert.isEmpty(comments)
    assert.strictEqual(ids.size, 0)
  })

  it("leaves comments that are too long, and those on other files", () => {
    const { comments, ids } = of([
      comment(1, "x".repeat(4_096)),
      comment(1, "other", "other.js"),
      comment(2, "short")
    ])
    assert.lengthOf(comments, 1)
    assert.strictEqual(ids.size, 1)
  })
})

describe("editedLines", () => {
  it("has the lines from the first change to the last one, without the removed ones", () => {
    assert.deepStrictEqual(editedLines({ lines: [" a", "-b", "+c", " d", "+e", " f"] }), ["c", "d", "e"])
    assert.deepStrictEqual(editedLines({ lines: [" a", "-b", " c"] }), [])
    assert.deepStrictEqual(editedLines({ lines: [" a"] }), [])
  })
})

describe("conflictRegion", () => {
  const sides = (workspace: string, change: string, base: string) =>
    conflictRegion({ id: "chf_1" as never, path: "a", workspace, change, base })

  it("shows only what differs, with three lines around it and its numbers", () => {
    const around = Array.from({ length: 40 }, (_, at) => `line ${at + 1}`)
    const textWith = (text: string) => `${around.toSpliced(20, 1, text).join("\n")}\n`
    const region = sides(textWith("mine"), textWith("theirs"), textWith("before"))
    assert.deepStrictEqual(
      region.workspace?.map(({ number }) => number),
      [18, 19, 20, 21, 22, 23, 24]
    )
    const othersOf = (name: "workspace" | "change" | "base") =>
      region[name]?.flatMap(({ isOther, text }) => (isOther ? [text] : []))
    assert.deepStrictEqual(othersOf("workspace"), ["mine"])
    assert.deepStrictEqual(othersOf("change"), ["theirs"])
    assert.deepStrictEqual(othersOf("base"), [])
  })

  it("has no lines for a version without text", () => {
    const { base, change } = conflictRegion({ id: "chf_1" as never, path: "a", change: "new\n" })
    assert.strictEqual(base, undefined)
    assert.deepStrictEqual(
      change?.map(({ text }) => text),
      ["new"]
    )
  })

  it("contains every line that differs", () => {
    const text = fc
      .array(fc.constantFrom("a", "b", "c", "d"), { maxLength: 12 })
      .map((lines) => lines.join("\n"))
    fc.assert(
      fc.property(text, text, text, (workspace, change, base) => {
        const region = sides(workspace, change, base)
        const linesOf = (value: string) => value.split("\n")
        const hidden = linesOf(workspace).length - (region.workspace?.length ?? 0)
        const from = (region.workspace?.[0]?.number ?? 1) - 1
        const rest = (value: string) => linesOf(value).length - hidden
        for (const value of [change, base]) {
          assert.deepStrictEqual(linesOf(value).slice(0, from), linesOf(workspace).slice(0, from))
          assert.isAtLeast(rest(value), 0)
        }
      })
    )
  })
})
