/**
 * Rows of styled text: text that passed `escapeControls`, wrapped at spaces and around wide characters.
 *
 * Guarantees: no row has more columns than the limit, from two columns on. Text is lost nowhere but spaces at the end of a row.
 */
import { columnsOfCharacter } from "./FitColumns.ts"
import type { Paint } from "./Paint.ts"

/** Indentation of values below their label. */
export const VALUE_INDENT = "    "

type Style = Parameters<Paint>[0]

/** Text of one style. */
export interface TextSpan {
  readonly text: string
  readonly style?: Style | undefined
}

export type Row = ReadonlyArray<TextSpan>

interface Cell {
  readonly character: string
  readonly width: number
  readonly style: Style | undefined
}

const TAB = "    "

const cellsOf = (spans: Row): Array<Cell> =>
  spans.flatMap(({ style, text }) =>
    Array.from(text.replaceAll("\t", TAB), (character) => ({
      character,
      width: columnsOfCharacter(character),
      style
    }))
  )

const widthOf = (cells: ReadonlyArray<Cell>): number => cells.reduce((sum, { width }) => sum + width, 0)

const rowOf = (cells: ReadonlyArray<Cell>): Row => {
  const row: Array<{ text: string; readonly style: Style | undefined }> = []
  for (const { character, style } of cells) {
    const last = row.at(-1)
    if (last !== undefined && last.style === style) last.text += character
    else row.push({ text: character, style })
  }
  return row
}

const withoutTrailingSpaces = (cells: ReadonlyArray<Cell>): ReadonlyArray<Cell> => {
  let end = cells.length
  while (end > 0 && cells[end - 1]?.character === " ") end--
  return cells.slice(0, end)
}

/** Where a row breaks: anywhere, for code and input, or between words. */
export type Breaking = "words" | "anywhere"

/** Cells of each row. At least one row. */
const wrapCells = (
  cells: ReadonlyArray<Cell>,
  columns: number,
  breaking: Breaking
): ReadonlyArray<ReadonlyArray<Cell>> => {
  const rows: Array<ReadonlyArray<Cell>> = []
  let row: Array<Cell> = []
  let width = 0
  /** Cells of `row` before the last place for a break. */
  let breakAt = 0
  for (const cell of cells) {
    if (width + cell.width > columns && row.length > 0) {
      const isSpace = cell.character === " " && breaking === "words"
      const at = isSpace || cell.width === 2 || breakAt === 0 ? row.length : breakAt
      rows.push(row.slice(0, at))
      row = row.slice(at)
      width = widthOf(row)
      breakAt = 0
      // A space that does not fit is the break itself.
      if (isSpace) continue
    }
    const breaksHere = breaking === "words" && cell.width === 2
    if (breaksHere) breakAt = row.length
    row.push(cell)
    width += cell.width
    if (breaksHere || (breaking === "words" && cell.character === " ")) breakAt = row.length
  }
  return [...rows, row]
}

/** Wraps the spans of one line. */
export const wrapSpans = (spans: Row, columns: number, breaking: Breaking = "words"): ReadonlyArray<Row> => {
  const rows = wrapCells(cellsOf(spans), Math.max(2, columns), breaking)
  return rows.map((row) => rowOf(breaking === "words" ? withoutTrailingSpaces(row) : row))
}

/** Wraps the spans of one line, with a prefix before the first row and another before the following rows. */
export const wrapIndented = (
  spans: Row,
  columns: number,
  first: Row,
  following: Row = first,
  breaking: Breaking = "words"
): ReadonlyArray<Row> => {
  const prefixWidth = Math.max(widthOf(cellsOf(first)), widthOf(cellsOf(following)))
  return wrapSpans(spans, columns - prefixWidth, breaking).map((row, at) => [
    ...(at === 0 ? first : following),
    ...row
  ])
}

/** Text of a row with its styles. */
export const paintRow = (row: Row, paint: Paint): string =>
  row.map(({ style, text }) => (style === undefined ? text : paint(style, text))).join("")

/** Columns of a row, at most. */
export const columnsOfRow = (row: Row): number => widthOf(cellsOf(row))
