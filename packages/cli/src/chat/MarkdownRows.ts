/**
 * Markdown as it streams: complete lines become rows that never change, and the last line is a preview.
 *
 * Guarantees: the rows do not depend on the pieces in which the text arrives. No row is wider than the terminal.
 * Does not: read HTML, footnotes or nested blocks. The text has passed `escapeControls`.
 */
import { type Row, type TextSpan, wrapIndented, wrapSpans } from "../terminal/WrapText.ts"
import { inlineSpans } from "./InlineMarkdown.ts"
import { isDelimiterRow, tableCells, tableRows } from "./MarkdownTable.ts"

/** Longest line whose structure is read. */
const MAX_STRUCTURE = 256
const MAX_TABLE_LINES = 500
const MAX_INDENT = 8
const MAX_RULE = 40

const fence = /^ {0,3}(`{3,}|~{3,}) *([\w+#.-]*)/
const heading = /^ {0,3}(#{1,6}) +/
const rule = /^ {0,3}(?:(?:\* *){3,}|(?:- *){3,}|(?:_ *){3,})$/
const item = /^( *)([-*+]|\d{1,9}[.)]) +/
const quote = /^ {0,3}> ?/

export class MarkdownRows {
  /** Columns of the terminal. May change between two lines. */
  private readonly columns: () => number
  private openFence: string | undefined
  private table: ReadonlyArray<string> = []
  private wasBlank = true

  constructor(columns: () => number) {
    this.columns = columns
  }

  /** Rows of a complete line. Lines of a table wait for its end. */
  line(line: string): ReadonlyArray<Row> {
    if (
      this.openFence === undefined &&
      line.trimStart().startsWith("|") &&
      this.table.length < MAX_TABLE_LINES
    ) {
      this.table = [...this.table, line]
      return []
    }
    return [...this.endTable(), ...this.collapsed(this.rowsOf(line))]
  }

  /** Rows of an incomplete line, as it would end now. */
  preview(line: string): ReadonlyArray<Row> {
    const copy = new MarkdownRows(this.columns)
    copy.openFence = this.openFence
    copy.table = this.table
    copy.wasBlank = this.wasBlank
    return [...copy.line(line), ...copy.endTable()]
  }

  /** Rows that waited. Ends the message. */
  end(): ReadonlyArray<Row> {
    this.openFence = undefined
    return this.endTable()
  }

  private endTable(): ReadonlyArray<Row> {
    const lines = this.table
    this.table = []
    const [header, delimiter, ...body] = lines
    if (header === undefined) return []
    this.wasBlank = false
    return delimiter !== undefined && isDelimiterRow(delimiter)
      ? tableRows(tableCells(header), body.map(tableCells), this.columns())
      : lines.flatMap((line) => wrapSpans(inlineSpans(line), this.columns()))
  }

  /** Several blank lines are one. */
  private collapsed(rows: ReadonlyArray<Row>): ReadonlyArray<Row> {
    const isBlank = rows.every((row) => row.every(({ text }) => text === ""))
    if (isBlank && this.wasBlank && this.openFence === undefined) return []
    if (rows.length > 0) this.wasBlank = isBlank
    return rows
  }

  private rowsOf(line: string): ReadonlyArray<Row> {
    const start = line.slice(0, MAX_STRUCTURE)
    const marks = fence.exec(start)
    const [, mark = "", language = ""] = marks ?? []
    if (this.openFence !== undefined) {
      const isEnd = mark.startsWith(this.openFence) && line.trim() === mark
      if (!isEnd)
        return wrapIndented([{ text: line }], this.columns(), [{ text: "  " }], undefined, "anywhere")
      this.openFence = undefined
      return []
    }
    if (marks !== null) {
      this.openFence = mark
      return language === "" ? [] : [[{ text: `  ${language}`, style: "dim" }]]
    }
    return this.block(line, start)
  }

  private block(line: string, start: string): ReadonlyArray<Row> {
    const columns = this.columns()
    const [headingStart = ""] = heading.exec(start) ?? []
    if (headingStart !== "")
      return wrapSpans(
        inlineSpans(line.slice(headingStart.length)).map(({ text }): TextSpan => ({ text, style: "bold" })),
        columns
      )
    if (rule.test(start.trimEnd())) return [[{ text: "─".repeat(Math.min(columns, MAX_RULE)), style: "dim" }]]
    const [quoteStart] = quote.exec(start) ?? []
    if (quoteStart !== undefined)
      return wrapIndented(inlineSpans(line.slice(quoteStart.length)), columns, [{ text: "│ ", style: "dim" }])
    const [itemStart = "", indent = "", marker = ""] = item.exec(start) ?? []
    if (itemStart !== "") return this.listItem(line.slice(itemStart.length), indent, marker)
    return wrapSpans(inlineSpans(line.trimEnd()), columns)
  }

  private listItem(text: string, indent: string, marker: string): ReadonlyArray<Row> {
    const before = " ".repeat(Math.min(MAX_INDENT, indent.length))
    const sign = marker.length > 1 ? marker : "•"
    const following = `${before}${" ".repeat(sign.length + 1)}`
    return wrapIndented(
      inlineSpans(text.trimEnd()),
      this.columns(),
      [{ text: `${before}${sign} ` }],
      [{ text: following }]
    )
  }
}
