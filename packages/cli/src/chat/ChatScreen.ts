/** Live rows of a chat: what is in progress, the question, the status, and the text that the user writes. */
import { fileNames, type NamedFile } from "../attachment/LocalFile.ts"
import { fitColumns, type Paint, paintRow, type Row, wrapIndented, wrapSpans } from "../terminal/Rows.ts"
import type { LiveRows } from "../terminal/LiveArea.ts"
import { escapeLine } from "../terminal/VisibleText.ts"

export interface ScreenContent {
  readonly live: ReadonlyArray<Row>
  /** Question of an approval. */
  readonly question: string | undefined
  readonly status: string
  /** One line above the text: what a second Ctrl-C does. */
  readonly hint: string | undefined
  /** Files of the message that the user writes. */
  readonly files: ReadonlyArray<NamedFile>
  /** Label of the text. */
  readonly prompt: string
  readonly text: string
  /** Text before the cursor. */
  readonly before: string
  /** Whether the text is a secret. */
  readonly isHidden: boolean
}

const MAX_INPUT_ROWS = 6

/** Rows of the text with the label before them. */
const inputRows = (prompt: string, text: string, columns: number): ReadonlyArray<Row> =>
  text
    .split("\n")
    .flatMap((line, at) =>
      wrapIndented(
        [{ text: escapeLine(line) }],
        columns,
        [{ text: at === 0 ? prompt : " ".repeat(prompt.length), style: "green" }],
        [{ text: " ".repeat(prompt.length) }],
        "anywhere"
      )
    )

const filesRow = (files: ReadonlyArray<NamedFile>, columns: number): ReadonlyArray<Row> => {
  const count = files.length === 1 ? "1 file" : `${files.length} files`
  const row: Row = [{ text: fitColumns(`${count}: ${fileNames(files)}`, columns), style: "green" }]
  return files.length === 0 ? [] : [row]
}

export const screenRows = (
  { before, files, hint, isHidden, live, prompt, question, status, text }: ScreenContent,
  columns: number,
  paint: Paint
): LiveRows => {
  const shownText = (each: string): string => (isHidden ? "•".repeat(each.length) : each)
  const input = inputRows(prompt, shownText(text), columns)
  const untilCursor = inputRows(prompt, shownText(before), columns)
  const cursorRow = untilCursor.length - 1
  const first = Math.max(0, Math.min(cursorRow - MAX_INPUT_ROWS + 1, input.length - MAX_INPUT_ROWS))
  const shown = input.slice(first, first + MAX_INPUT_ROWS)
  const above: ReadonlyArray<Row> = [
    ...live,
    ...(question === undefined ? [] : wrapSpans([{ text: question, style: "yellow" }], columns)),
    hint === undefined
      ? [{ text: fitColumns(status, columns), style: "dim" }]
      : [{ text: fitColumns(hint, columns), style: "yellow" }],
    ...filesRow(files, columns)
  ]
  return {
    rows: [...above, ...shown].map((row) => paintRow(row, paint)),
    cursor: {
      row: above.length + cursorRow - first,
      before: paintRow(untilCursor.at(-1) ?? [], paint)
    }
  }
}
