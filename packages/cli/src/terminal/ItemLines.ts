/** An item of a list: one line, or its id and indented lines below it on a terminal that is too narrow. No line is wider than the terminal. */
import { columnsOf, fitColumns } from "./FitColumns.ts"
import type { Paint } from "./Paint.ts"
import { paintRow, type Row, wrapIndented } from "./WrapText.ts"

const GAP = "  "

/** `parts` have passed `escapeLine`. `width`: columns of the terminal; `undefined` where the output is not one, so nothing is cut. */
export const formatItem = (id: string, parts: Row, paint: Paint, width: number | undefined): string => {
  const shown = parts.filter(({ text }) => text.trim() !== "")
  const spaced = shown.flatMap((part, at): Row => (at === 0 ? [part] : [{ text: GAP }, part]))
  const line = `${id}${GAP}${shown.map(({ text }) => text).join(GAP)}`
  if (width === undefined || columnsOf(line) <= width)
    return `${[id, paintRow(spaced, paint)].join(GAP).trimEnd()}\n`
  const rows = wrapIndented(spaced, width, [{ text: GAP }])
  return [fitColumns(id, width), ...rows.map((row) => paintRow(row, paint))].map((row) => `${row}\n`).join("")
}
