/** A pending comment below its lines. */
import { visibleLine, visibleText } from "../markdown/visible.ts"
import { useMessages } from "../text/Language.tsx"
import { describeSpan } from "./commentsMessage.ts"
import type { PlacedComment } from "./LineComment.ts"
import { reviewMessages } from "./messages.ts"
import "./changes.css"

interface Props {
  readonly placed: PlacedComment
  readonly onEdit: () => void
  readonly onRemove: () => void
}

export const CommentView = ({ onEdit, onRemove, placed: { comment, span } }: Props) => {
  const messages = useMessages(reviewMessages)
  const { path, quote, text } = comment
  const where = describeSpan(span ?? comment, messages.message)
  return (
    <article className="comment" aria-label={messages.commentOn(where)} tabIndex={-1} data-focus>
      <p className="comment-where">
        <span>
          {span === undefined && <code>{visibleLine(path, 400)}</code>} {where} · {messages.notSent}
        </span>
        <button type="button" className="clipped-more" onClick={onEdit}>
          {messages.edit}
        </button>
        <button type="button" className="clipped-more" onClick={onRemove}>
          {messages.remove}
        </button>
      </p>
      {span === undefined && (
        <>
          <p className="quiet">{messages.lineGone}</p>
          <pre className="comment-quote">{visibleText(quote.join("\n"))}</pre>
        </>
      )}
      <p className="said">{visibleText(text)}</p>
    </article>
  )
}
