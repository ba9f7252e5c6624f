/**
 * Markdown as it streams: complete lines become rows that never change, and the last line is a preview. A table has its columns side by side if
 * they fit the terminal, otherwise one line per cell.
 *
 * Guarantees: the rows do not depend on the pieces in which the text arrives. No row is wider than the terminal.
 *
 * Does not: read HTML, footnotes or nested blocks. The text has passed `escapeControls`.
 */
import { columnsOf } from "../terminal/FitColumns.ts"
import { type Row, type TextSpan, wrapIndented, wrapSpans } from "../terminal/WrapText.ts"
import { inlineSpans } from "./InlineMarkdown.ts"

const MAX_CELLS = 24
const GAP = "  "

/** Cells of a line that begins with `|`. An escaped bar is text. */
const tableCells = (line: string): ReadonlyArray<string> => {
  const cells = line.trim().replaceAll("\\|", "\u0000").split("|").slice(1)
  if (cells.at(-1)?.trim() === "") cells.pop()
  return cells.slice(0, MAX_CELLS).map((cell) => cell.trim().replaceAll("\u0000", "|"))
}

const isDelimiterRow = (line: string): boolean => {
  const cells = tableCells(line)
  return cells.length > 0 && cells.every((cell) => /^:?-+:?$/.test(cell))
}

const textOf = (spans: Row): string => spans.map(({ text }) => text).join("")

const bold = ({ style, text }: TextSpan): TextSpan => ({ text, style: style ?? "bold" })

/** The first line has the names of the columns. */
const tableRows = (
  header: ReadonlyArray<string>,
  body: ReadonlyArray<ReadonlyArray<string>>,
  columns: number
): ReadonlyArray<Row> => {
  const lines = [header, ...body].map((cells) => header.map((_, at) => inlineSpans(cells[at] ?? "")))
  const widths = header.map((_, at) => Math.max(...lines.map((cells) => columnsOf(textOf(cells[at] ?? [])))))
  const width = widths.reduce((sum, each) => sum + each, 0) + GAP.length * (header.length - 1)
  if (width > columns) return stackedRows(header, body, columns)
  return lines.map((cells, line) =>
    cells.flatMap((cell, at) => {
      const isLast = at === cells.length - 1
      const padding = " ".repeat((widths[at] ?? 0) - columnsOf(textOf(cell)))
      return [...(line === 0 ? cell.map(bold) : cell), ...(isLast ? [] : [{ text: padding + GAP }])]
    })
  )
}

/** Each line as a list of names and values. */
const stackedRows = (
  header: ReadonlyArray<string>,
  body: ReadonlyArray<ReadonlyArray<string>>,
  columns: number
): ReadonlyArray<Row> =>
  body.flatMap((cells, line) => [
    ...(line === 0 ? [] : [[{ text: "" }]]),
    ...header.flatMap((name, at) =>
      wrapIndented(
        [...inlineSpans(name).map(bold), { text: ": " }, ...inlineSpans(cells[at] ?? "")],
        columns,
        [],
        [{ text: GAP }]
      )
    )
  ])

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
