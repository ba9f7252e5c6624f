/**
 * Last rows of a terminal that are drawn again, below text that is printed once and stays in the scrollback.
 *
 * The cursor is placed by writing the row up to it, so its place is right also where the terminal counts columns in another way.
 *
 * Does not: wrap. Rows are narrower than the terminal.
 */
import { stripVTControlCharacters } from "node:util"
import { columnsOf } from "./Rows.ts"

/** Rows as they are written, and where the cursor is: at the end of `before` in row `row`. */
export interface LiveRows {
  readonly rows: ReadonlyArray<string>
  readonly cursor: { readonly row: number; readonly before: string }
}

const BEGIN = "\u001b[?2026h"
const END = "\u001b[?2026l"
const ERASE_BELOW = "\u001b[J"

const up = (rows: number): string => (rows > 0 ? `\u001b[${rows}A` : "")

export class LiveArea {
  private readonly write: (text: string) => void
  private drawn: LiveRows | undefined
  private width = Infinity

  constructor(write: (text: string) => void) {
    this.write = write
  }

  /** Prints settled rows above the area and draws the area again. `columns` is the width of the terminal. */
  draw(settled: ReadonlyArray<string>, live: LiveRows, columns: number): void {
    const { cursor, rows } = live
    const text = [
      BEGIN,
      this.erasure(columns),
      ...settled.map((row) => `${row}\r\n`),
      rows.join("\r\n"),
      up(rows.length - 1 - cursor.row),
      "\r",
      cursor.before,
      END
    ].join("")
    this.drawn = live
    this.width = columns
    this.write(text)
  }

  /** Erases the area and prints rows in its place. */
  close(settled: ReadonlyArray<string>, columns: number): void {
    this.write(this.erasure(columns) + settled.map((row) => `${row}\r\n`).join(""))
    this.drawn = undefined
  }

  /** The area is no longer on the screen: another program wrote to it, or the screen was cleared. */
  forget(): void {
    this.drawn = undefined
  }

  /** Rows from the top of the area to the cursor. A terminal that became narrower has wrapped them. */
  private erasure(columns: number): string {
    if (this.drawn === undefined) return ""
    const { cursor, rows } = this.drawn
    const heightOf = (row: string): number =>
      Math.max(1, Math.ceil(columnsOf(stripVTControlCharacters(row)) / columns))
    const above = rows.slice(0, cursor.row)
    const isNarrower = columns < this.width
    const height = isNarrower
      ? above.reduce((sum, row) => sum + heightOf(row), 0) + heightOf(cursor.before) - 1
      : cursor.row
    return `\r${up(height)}${ERASE_BELOW}`
  }
}
