/** Virtual list of the changes. Renders only visible items, so that a diff of ten thousand lines costs no more than one of ten. */
import { useCallback, useMemo } from "react"
import { languageOfFile } from "../diff/languageOfFile.ts"
import type { DiffEntry } from "../diff/rows.ts"
import { useMessages } from "../text/Language.tsx"
import { CommentEditor } from "./CommentEditor.tsx"
import { CommentView } from "./CommentView.tsx"
import { FileHead } from "./FileHead.tsx"
import { type DiffSideName, keyOfLine, type LineComment, lineOfRow, linesInSpan } from "./LineComment.ts"
import { LineItem } from "./LineItem.tsx"
import { VirtualList } from "./VirtualList.tsx"
import type { ReviewItem } from "./ReviewItem.ts"
import type { ReviewFile } from "./useChanges.ts"
import type { ChangesView } from "./useChangesView.ts"
import type { LineSelection } from "./useLineSelection.ts"
import type { ReviewList } from "./useReviewList.ts"
import { reviewMessages } from "./messages.ts"
import "./changes.css"

interface Props {
  readonly view: ChangesView
  readonly list: ReviewList
  readonly selection: LineSelection | undefined
  readonly handlers: object
  readonly mayComment: boolean
  readonly onAdd: (text: string, isLast: boolean) => void
  readonly onCancel: () => void
  readonly onRemove: (comment: LineComment) => void
}

/** Lines that are selected, or that the comment being written is about. */
const useMarkedLines = ({ byPath, draft }: ChangesView, selection: LineSelection | undefined) =>
  useMemo(() => {
    const path = selection?.file.diff.path ?? draft?.path
    const file = byPath.get(path ?? "")
    const span = selection === undefined ? draft : { from: selection.anchor, to: selection.head }
    const lines = file === undefined || span === undefined ? new Set<string>() : linesInSpan(file.diff, span)
    return { path, lines }
  }, [byPath, draft, selection])

const markOf = (row: DiffEntry, lines: ReadonlySet<string>): "" | "old" | "new" | "both" => {
  const [before, after] = (["old", "new"] as const).map((side) => lineOfRow(row, side))
  const isIn = (line: typeof before) => line !== undefined && lines.has(keyOfLine(line))
  if (isIn(before) && isIn(after)) return "both"
  return isIn(before) ? "old" : isIn(after) ? "new" : ""
}

interface ItemProps extends Omit<Props, "list" | "selection" | "handlers"> {
  readonly item: ReviewItem
  readonly marked: ReturnType<typeof useMarkedLines>
  readonly onComment: (file: ReviewFile, row: DiffEntry, side: DiffSideName) => void
  readonly onEdit: (comment: LineComment) => void
  /** Opens a large file. */
  readonly onShow: (file: ReviewFile) => void
}

const ChangesItem = ({
  item,
  marked,
  mayComment,
  onAdd,
  onCancel,
  onComment,
  onEdit,
  onRemove,
  onShow,
  view
}: ItemProps) => {
  const messages = useMessages(reviewMessages)
  switch (item.kind) {
    case "file": {
      const { file } = item
      return (
        <FileHead
          file={file}
          isOpen={view.isOpen(file)}
          isViewed={view.isViewed(file)}
          comments={view.comments.filter(({ comment }) => comment.path === file.diff.path).length}
          onToggle={() => view.setOpen(file.diff.path, !view.isOpen(file))}
          onViewed={() => view.toggleViewed(file)}
        />
      )
    }
    case "note":
      return (
        <p className="changes-note">
          {messages.notes[item.note]}
          {item.note === "large" && (
            <button type="button" className="button small" onClick={() => onShow(item.file)}>
              {messages.showLines(item.file.diff.additions + item.file.diff.deletions)}
            </button>
          )}
        </p>
      )
    case "lost":
      return <p className="changes-note">{messages.lostFiles}</p>
    case "comment": {
      const { comment } = item.placed
      return (
        <CommentView placed={item.placed} onEdit={() => onEdit(comment)} onRemove={() => onRemove(comment)} />
      )
    }
    case "draft":
      return (
        <CommentEditor
          key={item.draft.id}
          draft={item.draft}
          onAdd={onAdd}
          onCancel={onCancel}
          onText={view.drafting.onText}
        />
      )
    case "row":
      return (
        <LineItem
          file={item.file}
          row={item.row}
          language={languageOfFile(item.file.diff.path)}
          selected={item.file.diff.path === marked.path ? markOf(item.row, marked.lines) : ""}
          mayComment={mayComment}
          onComment={onComment}
        />
      )
  }
}

export const ChangesList = ({ handlers, list, selection, view, ...rest }: Props) => {
  const messages = useMessages(reviewMessages)
  const marked = useMarkedLines(view, selection)
  const { scroller, setActive, sticky, virtual } = list
  const { beginComment, items } = view
  const onComment = useCallback(
    (file: ReviewFile, row: DiffEntry, side: DiffSideName) => {
      const line = lineOfRow(row, side)
      if (line !== undefined) beginComment(file, line, line)
    },
    [beginComment]
  )
  return (
    <VirtualList
      {...{ handlers, items, scroller, sticky, virtual }}
      label={messages.lines}
      onActive={({ key }) => setActive(key)}
      row={(item) => (
        <ChangesItem
          item={item}
          marked={marked}
          view={view}
          onComment={onComment}
          onEdit={view.drafting.begin}
          onShow={({ diff }) => {
            view.setOpen(diff.path, true)
            list.focusItem(`file ${diff.path}`)
          }}
          {...rest}
        />
      )}
    />
  )
}
