/** Rows of the messages of a chat: of users, answers of agents, and those that wait. */
import { fileRows, textWithFiles } from "../attachment/FileText.ts"
import type { LocalFile } from "../attachment/LocalFile.ts"
import { fitColumns } from "../terminal/FitColumns.ts"
import { escapeControls, escapeLine } from "../terminal/VisibleText.ts"
import { type Row, wrapIndented } from "../terminal/WrapText.ts"
import type { ThreadMessage } from "./ChatThread.ts"
import { MarkdownRows } from "./MarkdownRows.ts"

type Rows = ReadonlyArray<Row>

/** A message that no service has accepted yet. */
export interface Unsent {
  readonly key: string
  readonly text: string
  readonly files: ReadonlyArray<LocalFile>
  readonly isInput: boolean
  readonly state: "sending" | "unsent"
}

const MAX_WAITING_ROWS = 4

export const chatMessageRows = ({ author, files, state, text }: ThreadMessage, columns: number): Rows => {
  const name = author === undefined ? "" : `${escapeLine(author)} `
  const note = state === "note" ? "note " : ""
  const rows = escapeControls(text)
    .trimEnd()
    .split("\n")
    .flatMap((line, at) =>
      wrapIndented(
        [
          { text: at === 0 ? `${name}${note}` : "", style: "dim" },
          { text: line, style: "bold" }
        ],
        columns,
        [{ text: at === 0 ? "› " : "  ", style: "green" }],
        [{ text: "  " }]
      )
    )
  return [...rows, ...fileRows(files, columns)]
}

/** Text of an answer whose run the chat did not follow. */
export const answerRows = ({ text }: ThreadMessage, columns: () => number): Rows => {
  if (text === "") return []
  const markdown = new MarkdownRows(columns)
  const lines = escapeControls(text).trimEnd().split("\n")
  return [...lines.flatMap((line) => markdown.line(line)), ...markdown.end()]
}

/** Messages without a run: those that the service has, then those that it has not accepted. */
export const waitingRows = (
  queued: ReadonlyArray<ThreadMessage>,
  unsent: ReadonlyArray<Unsent>,
  columns: number
): Rows => {
  const rows = [
    ...queued.map(
      ({ author, files, isHeld, text }) =>
        [
          isHeld ? "held" : "queued",
          `${author === undefined ? "" : `${author}: `}${textWithFiles(text, files)}`
        ] as const
    ),
    ...unsent.map(
      ({ files, state, text }) =>
        [state === "sending" ? "sending" : "not sent", textWithFiles(text, files)] as const
    )
  ]
  const shown = rows.slice(0, MAX_WAITING_ROWS).map(([label, text]): Row => {
    const room = columns - label.length - 2
    return [
      { text: `${label}: `, style: label === "not sent" ? "red" : "yellow" },
      { text: fitColumns(escapeLine(text), room), style: "dim" }
    ]
  })
  const more = rows.length - shown.length
  return more > 0 ? [...shown, [{ text: `and ${more} more`, style: "dim" }]] : shown
}
