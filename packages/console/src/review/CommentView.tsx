/** A pending comment below its lines. */
import { visibleLine, visibleText } from "../markdown/visible.ts"
import { useMessages } from "../text/Language.tsx"
import { Icon } from "../ui/Icon.tsx"
import { describeSpan } from "./commentsMessage.ts"
import type { PlacedComment } from "./LineComment.ts"
import { reviewMessages } from "./messages.ts"
import "./changes.css"

/** Text in which names between backticks are code, as the agent will read them. */
const CodeSpans = ({ text }: { readonly text: string }) => {
  const pieces = text.split("`")
  if (pieces.length % 2 === 0) return text
  return pieces.map((piece, at) => (at % 2 === 1 && piece !== "" ? <code key={at}>{piece}</code> : piece))
}

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
        <Icon name="message" size={14} />
        <span>
          {span === undefined && <code>{visibleLine(path, 400)}</code>} {where} · {messages.notSent}
        </span>
        <button type="button" className="quiet-button" onClick={onEdit}>
          {messages.edit}
        </button>
        <button type="button" className="quiet-button" onClick={onRemove}>
          {messages.remove}
        </button>
      </p>
      {span === undefined && (
        <>
          <p className="quiet">{messages.lineGone}</p>
          <pre className="comment-quote">{visibleText(quote.join("\n"))}</pre>
        </>
      )}
      <p className="said">
        <CodeSpans text={visibleText(text)} />
      </p>
    </article>
  )
}
