import { assert, describe, it } from "@effect/vitest"
import { approvedContent, MAX_CONTENT } from "../../src/confinement/ApprovedFiles.ts"

describe("approvedContent", () => {
  it.each<readonly [string, unknown, string | undefined, string | undefined]>([
    ["the whole content", { path: "a", content: "new" }, "old", "new"],
    ["the whole content of a new file", { file_text: "" }, undefined, ""],
    ["a replacement", { old_string: "b", new_string: "$1" }, "abc", "a$1c"],
    ["a replacement of all", { oldText: "a", newText: "b", replaceAll: true }, "aba", "bbb"],
    [
      "several replacements in order",
      {
        edits: [
          { old_string: "a", new_string: "b" },
          { old_string: "b", new_string: "c" }
        ]
      },
      "a",
      "c"
    ],
    ["a new file by an edit", { old_string: "", new_string: "x" }, undefined, "x"],
    ["a text that is there twice", { old_string: "a", new_string: "b" }, "aa", undefined],
    ["a text that is missing", { old_string: "a", new_string: "b" }, "x", undefined],
    ["an edit of a missing file", { old_string: "a", new_string: "b" }, undefined, undefined],
    ["an edit of nothing in a file", { old_string: "", new_string: "x" }, "a", undefined],
    ["two ways at once", { content: "x", old_string: "a", new_string: "b" }, "a", undefined],
    ["a patch", { content: "x", patch: "@@" }, "a", undefined],
    ["no edits", { edits: [] }, "a", undefined],
    ["an edit that is none", { edits: ["a"] }, "a", undefined],
    ["other fields only", { path: "a" }, "a", undefined],
    ["no object", "content", "a", undefined],
    ["a content that is no text", { content: 1 }, "a", undefined],
    ["too much", { content: "x".repeat(MAX_CONTENT + 1) }, "a", undefined]
  ])("of %s", (_, input, before, expected) => {
    assert.strictEqual(approvedContent(input, before), expected)
  })

  it("is bounded while replacements multiply the text", () => {
    const edits = Array.from({ length: 50 }, () => ({ old_string: "a", new_string: "aa", replace_all: true }))
    assert.isUndefined(approvedContent({ edits }, "a".repeat(1_000)))
  })
})
