/** A changed line with its name for screen readers, and the buttons that comment on it. */
import { memo } from "react"
import { DiffRow } from "../diff/DiffRow.tsx"
import type { DiffEntry } from "../diff/rows.ts"
import { visibleLine } from "../markdown/visible.ts"
import { useMessages } from "../text/Language.tsx"
import { Icon } from "../ui/Icon.tsx"
import { type DiffSideName, keyOfLine, type LineRef, lineOfRow } from "./LineComment.ts"
import type { ReviewFile } from "./useChanges.ts"
import { describeSpan } from "./commentsMessage.ts"
import { reviewMessages } from "./messages.ts"
import "./changes.css"

type LineChange = "same" | "added" | "removed" | "changed"

/** What a row shows, for its name. `undefined` for rows without lines. */
const describeRow = (
  row: DiffEntry
): { readonly line: number; readonly change: LineChange; readonly text: string } | undefined => {
  if (row.kind === "line") {
    const { mark, number, text } = row.side
    return { line: number, change: mark === "+" ? "added" : mark === "-" ? "removed" : "same", text }
  }
  if (row.kind !== "pair") return undefined
  const side = row.new ?? row.old
  if (side === undefined) return undefined
  const isPair = row.old !== undefined && row.new !== undefined
  const one = side.mark === "+" ? "added" : "removed"
  return {
    line: side.number,
    change: side.mark === " " ? "same" : isPair ? "changed" : one,
    text: side.text
  }
}

/** Lines of a row that can have a comment: one, or both of a pair. */
const linesOfRow = (row: DiffEntry): ReadonlyArray<LineRef> => {
  const [before, after] = [lineOfRow(row, "old"), lineOfRow(row, "new")]
  if (before === undefined || after === undefined) return []
  return keyOfLine(before) === keyOfLine(after) ? [after] : [before, after]
}

const NAME_CHARACTERS = 160

interface Props {
  readonly file: ReviewFile
  readonly row: DiffEntry
  readonly language: string | undefined
  /** Sides of the row that are selected. */
  readonly selected: "" | "old" | "new" | "both"
  readonly mayComment: boolean
  readonly onComment: (file: ReviewFile, row: DiffEntry, side: DiffSideName) => void
}

export const LineItem = memo(({ file, language, mayComment, onComment, row, selected }: Props) => {
  const messages = useMessages(reviewMessages)
  const description = describeRow(row)
  if (description === undefined) return <DiffRow row={row} language={language} />
  const { change, line, text } = description
  return (
    <div
      className={`line-item ${selected === "" ? "" : `line-selected-${selected}`}`}
      role="group"
      aria-label={messages.lineName(line, change, visibleLine(text, NAME_CHARACTERS))}
      tabIndex={-1}
      data-focus
    >
      <DiffRow row={row} language={language} />
      {mayComment &&
        linesOfRow(row).map((each) => (
          <button
            key={each.side}
            type="button"
            className={`line-comment line-comment-${row.kind === "pair" ? each.side : "new"}`}
            aria-label={messages.commentOn(describeSpan({ from: each, to: each }, messages.message))}
            onClick={() => onComment(file, row, each.side)}
          >
            <Icon name="plus" size={14} />
          </button>
        ))}
    </div>
  )
})
