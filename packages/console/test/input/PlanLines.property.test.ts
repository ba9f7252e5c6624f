/** Parts of a plan, and the text of comments on them. */
import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { commentText, planParts } from "../../src/input/Plan.tsx"

const line = fc.constantFrom(
  "",
  "  ",
  "# Title",
  "A paragraph.",
  "- item",
  "  - nested item",
  "1. first",
  "12) twelfth",
  "```js",
  "```",
  "~~~",
  "| a | b |",
  "continued",
  "\t- tabbed"
)

describe("planParts", () => {
  it("has each line with text in exactly one part, in order", () => {
    fc.assert(
      fc.property(fc.array(line, { maxLength: 30 }), (lines) => {
        const parts = planParts(lines.join("\n"))
        const covered = parts.flatMap((part) => part.lines.map((_, at) => part.line + at))
        assert.deepStrictEqual(
          covered,
          covered.toSorted((a, b) => a - b)
        )
        assert.strictEqual(new Set(covered).size, covered.length)
        for (const { line: from, lines: partLines } of parts)
          assert.deepStrictEqual(partLines, lines.slice(from - 1, from - 1 + partLines.length))
        for (const [at, text] of lines.entries()) if (text.trim() !== "") assert.include(covered, at + 1)
      }),
      { numRuns: 500 }
    )
  })

  it("keeps a block of code whole", () => {
    const parts = planParts("Before\n\n```js\nconst a = 1\n\n- no item\n```\n- item")
    assert.deepStrictEqual(
      parts.map(({ lines }) => lines.length),
      [1, 5, 1]
    )
  })
})

describe("commentText", () => {
  const plan = planParts("# Plan\n\n1. First\n2. Second\n   with more\n   and more\n   and most")

  it("quotes the lines of each comment, in the order of the plan", () => {
    const comments = [
      { line: 4, text: " Not this. " },
      { line: 3, text: "Why?" }
    ]
    assert.strictEqual(
      commentText(plan, comments, "Thanks."),
      "> 1. First\n\nWhy?\n\n> 2. Second\n> with more\n> and more\n> …\n\nNot this.\n\nThanks."
    )
  })

  it("is empty without comments", () => {
    assert.strictEqual(commentText(plan, [], "  "), "")
  })
})
