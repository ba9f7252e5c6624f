import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { cpuMillisOf } from "@corral/testing/process/ProcessCosts"
import { MarkdownRows } from "../../src/chat/MarkdownRows.ts"
import { columnsOfRow, makePaint, paintRow, type Row } from "../../src/terminal/Rows.ts"
import { escapeControls } from "../../src/terminal/VisibleText.ts"

const rowsOf = (text: string, columns: number): ReadonlyArray<Row> => {
  const markdown = new MarkdownRows(() => columns)
  const lines = escapeControls(text).split("\n")
  return [...lines.flatMap((line) => markdown.line(line)), ...markdown.end()]
}
const plain = (text: string, columns = 44) =>
  rowsOf(text, columns).map((row) => paintRow(row, makePaint(false)))
const styles = (text: string) =>
  rowsOf(text, 80).flatMap((row) => row.map(({ style, text: shown }) => [shown, style]))

const example = `# Opening hours

The shop is **open** on weekdays, see \`hours.js\` and [the notes](notes/hours.md).

- one
  - two with a long text that does not fit a narrow terminal
10. ten

> quoted

\`\`\`js
const **x** = 1
\`\`\`
| day | hours |
|---|---:|
| 周六 | 10–14 |
`

describe("MarkdownRows", () => {
  it("shows headings, lists, quotes, code and tables at 44 columns", () => {
    assert.deepStrictEqual(plain(example), [
      "Opening hours",
      "",
      "The shop is open on weekdays, see hours.js",
      "and the notes (notes/hours.md).",
      "",
      "• one",
      "  • two with a long text that does not fit a",
      "    narrow terminal",
      "10. ten",
      "",
      "│ quoted",
      "",
      "  js",
      "  const **x** = 1",
      "day   hours",
      "周六  10–14",
      ""
    ])
  })

  it("shows a table that is too wide as one line per cell", () => {
    const wide = `|file|what it does|\n|-|-|\n|src/main.ts|${"starts everything ".repeat(3)}|`
    assert.deepStrictEqual(plain(wide), [
      "file: src/main.ts",
      "what it does: starts everything starts",
      "  everything starts everything"
    ])
    assert.deepStrictEqual(plain("| not a table |"), ["| not a table |"])
  })

  it("styles marks that are closed and keeps those that are not", () => {
    assert.deepStrictEqual(styles("a **b** `c` *d* ~~e~~"), [
      ["a ", undefined],
      ["b", "bold"],
      [" ", undefined],
      ["c", "cyan"],
      [" ", undefined],
      ["d", "italic"],
      [" ", undefined],
      ["e", "strikethrough"]
    ])
    assert.deepStrictEqual(plain("2 * 3 and **open, snake_case_name, `code"), [
      "2 * 3 and **open, snake_case_name, `code"
    ])
    assert.deepStrictEqual(styles("2 * 3 and *yes*").at(-1), ["yes", "italic"])
  })

  it("previews an unfinished line without changing what follows", () => {
    const markdown = new MarkdownRows(() => 80)
    markdown.line("```")
    assert.deepStrictEqual(
      markdown.preview("x = *1").map((row) => paintRow(row, makePaint(false))),
      ["  x = *1"]
    )
    assert.deepStrictEqual(
      markdown.line("x = *1*").map((row) => paintRow(row, makePaint(false))),
      ["  x = *1*"]
    )
  })

  const anyMarkdown = fc.oneof(
    fc.string({ unit: "grapheme", maxLength: 300 }),
    fc
      .array(
        fc.constantFrom(
          "**",
          "*",
          "_",
          "`",
          "```\n",
          "\n",
          "- ",
          "# ",
          "| ",
          "|\n",
          "|-|-|\n",
          "> ",
          "1. ",
          "[a](",
          ")",
          "word ",
          "语言",
          "~~",
          "\t"
        ),
        { maxLength: 120 }
      )
      .map((parts) => parts.join(""))
  )

  it("makes no row wider than the terminal", () => {
    fc.assert(
      fc.property(anyMarkdown, fc.constantFrom(43, 44, 80, 120), (text, columns) => {
        for (const row of rowsOf(text, columns)) assert.isAtMost(columnsOfRow(row), columns, text)
      })
    )
  })

  it("reads hostile lines in linear time", () => {
    const marks = ["*", "**a", "`", "[", "[]( ", "_a ", "!["].map((mark) => mark.repeat(8_000 / mark.length))
    const millis = cpuMillisOf(() => {
      for (const line of marks) rowsOf(line, 80)
    })
    assert.isBelow(millis, 5_000)
  })
})
