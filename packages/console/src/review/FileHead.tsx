/** Head of a changed file: a button that folds it, its counts, and its mark as viewed. */
import { visibleLine } from "../markdown/visible.ts"
import { useMessages } from "../text/Language.tsx"
import { Icon } from "../ui/Icon.tsx"
import type { ReviewFile } from "./useChanges.ts"
import { reviewMessages } from "./messages.ts"
import "../diff/diff.css"
import "./changes.css"

interface Props {
  readonly file: ReviewFile
  readonly isOpen: boolean
  readonly isViewed: boolean
  readonly comments: number
  readonly onToggle: () => void
  readonly onViewed: () => void
}

export const FileHead = ({ comments, file: { diff }, isOpen, isViewed, onToggle, onViewed }: Props) => {
  const messages = useMessages(reviewMessages)
  const { additions, deletions, fromPath, path, status } = diff
  const cut = path.lastIndexOf("/") + 1
  return (
    <div className="file-head">
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
    </div>
  )
}
