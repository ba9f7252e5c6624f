/**
 * Virtual list of the changes: heads of files, which fold them and mark them as viewed, and lines with the buttons that comment on them. Renders
 * only visible items, so that a diff of ten thousand lines costs no more than one of ten.
 */
import { type ComponentProps, memo, useCallback, useMemo } from "react"
import { DiffRow } from "../diff/DiffRow.tsx"
import { languageOfFile } from "../diff/languageOfFile.ts"
import type { DiffEntry } from "../diff/rows.ts"
import { visibleLine } from "../markdown/visible.ts"
import { useMessages } from "../text/Language.tsx"
import { Icon } from "../ui/Icon.tsx"
import { CommentEditor, CommentView } from "./CommentView.tsx"
import {
  ApartHead,
  DecideButtons,
  FileBadges,
  HunkHead,
  LoadingLines,
  type PartDecisions
} from "./DecisionParts.tsx"
import {
  type DiffSideName,
  type LineComment,
  type LineRef,
  type PlacedComment,
  keyOfLine,
  lineOfRow,
  linesInSpan
} from "./LineComment.ts"
import type { ReviewItem } from "./ReviewItem.ts"
import { VirtualList } from "./VirtualList.tsx"
import { describeSpan } from "./commentsMessage.ts"
import { reviewMessages } from "./messages.ts"
import { canEdit, editedLines, hunkOf } from "./setFiles.ts"
import type { ReviewFile } from "./useChanges.ts"
import type { ChangesView } from "./useChangesReview.ts"
import type { LineSelection, ReviewList } from "./useReviewList.ts"
import "../diff/diff.css"
import "./changes.css"

interface FileHeadProps {
  readonly file: ReviewFile
  readonly isOpen: boolean
  readonly isViewed: boolean
  readonly comments: number
  readonly onToggle: () => void
  readonly onViewed: () => void
  readonly decisions: PartDecisions | undefined
}

/** Head of a changed file: a button that folds it, its counts, and its mark as viewed. */
const FileHead = ({ comments, decisions, file, isOpen, isViewed, onToggle, onViewed }: FileHeadProps) => {
  const messages = useMessages(reviewMessages)
  const { additions, deletions, fromPath, path, status } = file.diff
  const cut = path.lastIndexOf("/") + 1
  return (
    <div className={decisions?.pendingOf({ file }) === undefined ? "file-head" : "file-head hunk-deciding"}>
      <button
        type="button"
        className="file-fold"
        aria-expanded={isOpen}
        data-focus
        data-path={path}
        onClick={onToggle}
      >
        <Icon name={isOpen ? "fold" : "unfold"} />
        <span className="file-path" title={visibleLine(path, 1_000)}>
          {cut > 0 && <span className="file-folder">{visibleLine(path.slice(0, cut), 1_000)}</span>}
          <span className="file-name">{visibleLine(path.slice(cut), 400)}</span>
          {fromPath !== undefined && (
            <span className="quiet"> {messages.renamedFrom(visibleLine(fromPath, 400))}</span>
          )}
        </span>{" "}
        {status !== "modified" && (
          <>
            <span className={`file-status file-status-${status}`}>{messages.status[status]}</span>{" "}
          </>
        )}
        {comments > 0 && (
          <>
            <span className="file-comments">
              <Icon name="message" size={14} />
              <span className="hidden">{messages.commentCount(comments)}</span>
              <span aria-hidden="true">{comments}</span>
            </span>{" "}
          </>
        )}
        {additions > 0 && <ins className="diff-plus">+{additions}</ins>}{" "}
        {deletions > 0 && <del className="diff-minus">−{deletions}</del>}
      </button>
      <label className="file-viewed">
        <input
          type="checkbox"
          aria-label={messages.viewedFile(visibleLine(path, 1_000))}
          checked={isViewed}
          onChange={onViewed}
        />
        {messages.viewed}
      </label>
      {decisions !== undefined && (
        <DecideButtons part={{ file }} name={visibleLine(path, 400)} decisions={decisions} />
      )}
      {decisions !== undefined && <FileBadges file={file} decisions={decisions} />}
    </div>
  )
}

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

interface LineItemProps {
  readonly file: ReviewFile
  readonly row: DiffEntry
  readonly language: string | undefined
  /** Sides of the row that are selected. */
  readonly selected: "" | "old" | "new" | "both"
  readonly mayComment: boolean
  readonly onComment: (file: ReviewFile, row: DiffEntry, side: DiffSideName) => void
}

/** A changed line with its name for screen readers, and the buttons that comment on it. */
const LineItem = memo(({ file, language, mayComment, onComment, row, selected }: LineItemProps) => {
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

interface ChangesListProps {
  readonly view: ChangesView
  readonly list: ReviewList
  readonly selection: LineSelection | undefined
  readonly handlers: object
  readonly mayComment: boolean
  /** Of a change set. */
  readonly decisions?: PartDecisions | undefined
  readonly onAdd: ComponentProps<typeof CommentEditor>["onAdd"]
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

interface ItemProps extends Omit<ChangesListProps, "list" | "selection" | "handlers"> {
  readonly item: ReviewItem
  readonly marked: ReturnType<typeof useMarkedLines>
  readonly onComment: (file: ReviewFile, row: DiffEntry, side: DiffSideName) => void
  readonly onEdit: (comment: LineComment) => void
  /** Opens a large file. */
  readonly onShow: (file: ReviewFile) => void
}

/** Lines that a suggestion at this place replaces. */
const originalOf = ({ byPath }: ChangesView, { comment, span }: PlacedComment) => {
  const file = byPath.get(comment.path)
  const found = file === undefined || !canEdit(file) ? undefined : hunkOf(file, span)
  return found === undefined ? undefined : editedLines(found.hunk)
}

interface PlacedCommentProps extends Pick<ItemProps, "decisions" | "onEdit" | "onRemove" | "view"> {
  readonly placed: PlacedComment
}

/** A pending comment, whose suggestion can be applied while its lines are shown. */
const PlacedCommentView = ({ decisions, onEdit, onRemove, placed, view }: PlacedCommentProps) => (
  <CommentView
    placed={placed}
    original={originalOf(view, placed)}
    onApply={
      decisions?.isOpen === true && placed.span !== undefined ? () => decisions.onApply(placed) : undefined
    }
    onEdit={() => onEdit(placed.comment)}
    onRemove={() => onRemove(placed.comment)}
  />
)

const ChangesItem = ({
  decisions,
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
          decisions={decisions}
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
    case "loading":
      return decisions === undefined ? null : <LoadingLines file={item.file} decisions={decisions} />
    case "apart":
      return <ApartHead />
    case "lost":
      return <p className="changes-note">{messages.lostFiles}</p>
    case "comment":
      return <PlacedCommentView {...{ decisions, onEdit, onRemove, view }} placed={item.placed} />
    case "draft":
      return (
        <CommentEditor
          key={item.draft.id}
          draft={item.draft}
          original={
            decisions === undefined ? undefined : originalOf(view, { comment: item.draft, span: item.draft })
          }
          onAdd={onAdd}
          onCancel={onCancel}
          onText={view.drafting.onText}
        />
      )
    case "row":
      if (item.row.kind === "hunk" && decisions !== undefined)
        return <HunkHead file={item.file} row={item.row} decisions={decisions} />
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

export const ChangesList = ({ handlers, list, selection, view, ...rest }: ChangesListProps) => {
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
