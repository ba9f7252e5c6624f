/**
 * Rows of styled text on a terminal: how many columns a text has, wrapping at spaces and around wide characters, colours, and items of lists. A text has
 * passed `escapeControls`.
 *
 * Columns are counted at most: terminals differ in emoji and in new characters, and a text that is counted too wide still fits.
 *
 * Guarantees: no row has more columns than the limit, from two columns on. Text is lost nowhere but spaces at the end of a row.
 */
import { eastAsianWidth } from "get-east-asian-width"
import { styleText } from "node:util"

const EMOJI_PRESENTATION = "\ufe0f"
const combining = /^[\p{Mn}\p{Me}]$/u

/** Columns of one character. Characters from U+1F000 count as two. */
const columnsOfCharacter = (character: string): number => {
  const code = character.codePointAt(0) ?? 0
  if (code < 0x300) return 1
  // Some terminals make the character before it wide.
  if (character === EMOJI_PRESENTATION) return 1
  if (combining.test(character)) return 0
  return code >= 0x1f000 && code < 0xe0000 ? 2 : eastAsianWidth(code)
}

/** Columns of a text on a terminal, at most. */
export const columnsOf = (text: string): number => {
  let width = 0
  for (const character of text) width += columnsOfCharacter(character)
  return width
}

/** Truncates text to a number of columns. */
export const fitColumns = (text: string, columns: number): string => {
  let width = 0
  let shown = ""
  let cut = ""
  for (const character of text) {
    width += columnsOfCharacter(character)
    if (width > columns) return columns < 1 ? "" : `${cut}…`
    shown += character
    if (width < columns) cut = shown
  }
  return shown
}

type Style = Parameters<typeof styleText>[0]

/** Optional terminal colours. */
export type Paint = (style: Style, text: string) => string

/** Returns a function that colours text, or leaves it unchanged. */
export const makePaint = (isColoured: boolean): Paint =>
  isColoured ? (style, text) => styleText(style, text, { validateStream: false }) : (_, text) => text

/** Indentation of values below their label. */
export const VALUE_INDENT = "    "

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
type Breaking = "words" | "anywhere"

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

const GAP = "  "

/**
 * An item of a list: one line, or its id and indented lines below it on a terminal that is too narrow. No line is wider than the terminal. `parts`
 * have passed `escapeLine`. `width`: columns of the terminal; `undefined` where the output is not one, so nothing is cut.
 */
export const formatItem = (id: string, parts: Row, paint: Paint, width: number | undefined): string => {
  const shown = parts.filter(({ text }) => text.trim() !== "")
  const spaced = shown.flatMap((part, at): Row => (at === 0 ? [part] : [{ text: GAP }, part]))
  const line = `${id}${GAP}${shown.map(({ text }) => text).join(GAP)}`
  if (width === undefined || columnsOf(line) <= width)
    return `${[id, paintRow(spaced, paint)].join(GAP).trimEnd()}\n`
  const rows = wrapIndented(spaced, width, [{ text: GAP }])
  return [fitColumns(id, width), ...rows.map((row) => paintRow(row, paint))].map((row) => `${row}\n`).join("")
}
