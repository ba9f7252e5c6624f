/** The message with the comments of a review. */
import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { commentsMessage, isTooLong } from "../../src/review/commentsMessage.ts"
import type { LineSpan, PlacedComment } from "../../src/review/LineComment.ts"
import { reviewMessages } from "../../src/review/messages.ts"

const words = reviewMessages.en.message
const at = (line: number, side: "old" | "new" = "new") => ({ side, line })

const placed = (
  text: string,
  {
    path = "src/hours.js",
    quote = ["+open(8)"],
    span
  }: { path?: string; quote?: ReadonlyArray<string>; span?: LineSpan | undefined } = {}
): PlacedComment => {
  const lines = span ?? { from: at(12), to: at(12) }
  return { comment: { id: "c", path, quote, text, ...lines }, span: lines }
}

describe("commentsMessage", () => {
  it("has file, line, quoted lines and text of each comment", () => {
    const removed = { from: at(3, "old"), to: at(5, "old") }
    assert.strictEqual(
      commentsMessage(
        [
          placed("Use the constant.\n\nTwice."),
          placed("Why?", { path: "a.md", quote: ["-x", "-y", "-z"], span: removed })
        ],
        words
      ),
      [
        "Please address these 2 comments on the changes.",
        "",
        "1. `src/hours.js`, line 12",
        "",
        "   ```diff",
        "   +open(8)",
        "   ```",
        "",
        "   Use the constant.",
        "",
        "   Twice.",
        "",
        "2. `a.md`, removed lines 3–5",
        "",
        "   ```diff",
        "   -x",
        "   -y",
        "   -z",
        "   ```",
        "",
        "   Why?"
      ].join("\n")
    )
  })

  it("names a place that is no longer in the changes", () => {
    const { comment } = placed("Why?")
    assert.include(
      commentsMessage([{ comment, span: undefined }], words),
      "line 12 (no longer in the changes)"
    )
  })

  it("keeps each comment in its item, with any text, path and quote", () => {
    const text = fc.oneof(
      fc.string({ unit: "binary", maxLength: 60 }),
      fc
        .array(fc.constantFrom("```", "~~~~", "\n", "\r", "1. x", "# h", "`", " ", "- a", "</details>"), {
          maxLength: 12
        })
        .map((parts) => parts.join(""))
    )
    const comment = fc
      .tuple(
        text,
        text,
        fc.array(
          text.map((line) => `+${line.replaceAll("\n", "")}`),
          { minLength: 1, maxLength: 4 }
        )
      )
      .map(([body, path, quote]) => placed(body, { path, quote }))
    fc.assert(
      fc.property(fc.array(comment, { minLength: 1, maxLength: 12 }), (comments) => {
        const lines = commentsMessage(comments, words).split(/\r\n|\r|\n/)
        const [opening, ...rest] = lines
        assert.strictEqual(opening, words.opening(comments.length))
        let [indent, items] = [0, 0]
        for (const line of rest) {
          const start = /^(\d+\. )/.exec(line)?.[1]
          if (start !== undefined) {
            items++
            assert.strictEqual(start, `${items}. `)
            indent = start.length
          } else if (line !== "") assert.strictEqual(line.slice(0, indent).trim(), "", line)
        }
        assert.strictEqual(items, comments.length)
      })
    )
  })

  it("fences a quote that has fences", () => {
    const message = commentsMessage([placed("ok", { path: "a`b.md", quote: ["+````js", " ```"] })], words)
    assert.include(message, "`` a`b.md ``")
    assert.include(message, "   `````diff\n   +````js\n    ```\n   `````\n")
  })

  it("is too long from the size of the largest prompt", () => {
    assert.isFalse(isTooLong("x".repeat(262_144)))
    assert.isTrue(isTooLong("字".repeat(90_000)))
  })
})
