/** Rows of a Markdown table: columns side by side if they fit the terminal, otherwise one line per cell. */
import { columnsOf } from "../terminal/FitColumns.ts"
import { type Row, type TextSpan, wrapIndented } from "../terminal/WrapText.ts"
import { inlineSpans } from "./InlineMarkdown.ts"

const MAX_CELLS = 24
const GAP = "  "

/** Cells of a line that begins with `|`. An escaped bar is text. */
export const tableCells = (line: string): ReadonlyArray<string> => {
  const cells = line.trim().replaceAll("\\|", "\u0000").split("|").slice(1)
  if (cells.at(-1)?.trim() === "") cells.pop()
  return cells.slice(0, MAX_CELLS).map((cell) => cell.trim().replaceAll("\u0000", "|"))
}

export const isDelimiterRow = (line: string): boolean => {
  const cells = tableCells(line)
  return cells.length > 0 && cells.every((cell) => /^:?-+:?$/.test(cell))
}

const textOf = (spans: Row): string => spans.map(({ text }) => text).join("")

const bold = ({ style, text }: TextSpan): TextSpan => ({ text, style: style ?? "bold" })

/** The first line has the names of the columns. */
export const tableRows = (
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
