/**
 * A pending comment below its lines, and the field in which it is written. Its text is in the review only when it is added, so that a key
 * renders nothing else.
 */
import { type KeyboardEvent, useId, useRef, useState } from "react"
import { visibleLine, visibleText } from "../markdown/visible.ts"
import { useMessages } from "../text/Language.tsx"
import { Icon } from "../ui/Icon.tsx"
import { focusAtOnce } from "../ui/Dialogs.tsx"
import type { LineComment, PlacedComment } from "./LineComment.ts"
import { NEW_COMMENT } from "./ReviewItem.ts"
import { MAX_COMMENT_CHARACTERS } from "./ReviewStore.ts"
import { describeSpan } from "./commentsMessage.ts"
import { reviewMessages } from "./messages.ts"
import "./changes.css"

interface CommentEditorProps {
  readonly draft: LineComment
  /** Adds the comment. `isLast`: sends all comments after it. */
  readonly onAdd: (text: string, isLast: boolean) => void
  readonly onCancel: () => void
  /** The text while it is being written. */
  readonly onText: (text: string) => void
}

/** Field for a comment on lines. Its text is in the review only when it is added, so that a key renders nothing else. */
export const CommentEditor = ({ draft, onAdd, onCancel, onText }: CommentEditorProps) => {
  const messages = useMessages(reviewMessages)
  const [text, setText] = useState(draft.text)
  const field = useRef<HTMLTextAreaElement>(null)
  const id = useId()
  const isEmpty = text.trim() === ""
  const onKeyDown = (event: KeyboardEvent) => {
    // Single letters are text here.
    event.stopPropagation()
    if (event.nativeEvent.isComposing || event.nativeEvent.keyCode === 229) return
    if (event.key === "Escape" && isEmpty) onCancel()
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return
    event.preventDefault()
    if (!isEmpty) onAdd(text, event.shiftKey)
  }
  return (
    <form
      className="comment-editor"
      onSubmit={(event) => {
        event.preventDefault()
        if (isEmpty) field.current?.focus()
        else onAdd(text, false)
      }}
    >
      <label htmlFor={id}>{messages.commentOn(describeSpan(draft, messages.message))}</label>
      <textarea
        ref={(element) => {
          if (field.current === null) focusAtOnce(element)
          field.current = element
        }}
        id={id}
        data-focus
        rows={3}
        maxLength={MAX_COMMENT_CHARACTERS}
        value={text}
        onChange={({ target }) => {
          setText(target.value)
          onText(target.value)
        }}
        onKeyDown={onKeyDown}
      />
      <div className="comment-actions">
        <span className="quiet">{messages.commentHint}</span>
        <button type="button" className="button small" onClick={onCancel}>
          {messages.cancel}
        </button>
        <button type="submit" className="button small comment-add" disabled={isEmpty}>
          {draft.id === NEW_COMMENT ? messages.addComment : messages.saveComment}
        </button>
      </div>
    </form>
  )
}

/** Text in which names between backticks are code, as the agent will read them. */
const CodeSpans = ({ text }: { readonly text: string }) => {
  const pieces = text.split("`")
  if (pieces.length % 2 === 0) return text
  return pieces.map((piece, at) => (at % 2 === 1 && piece !== "" ? <code key={at}>{piece}</code> : piece))
}

interface CommentViewProps {
  readonly placed: PlacedComment
  readonly onEdit: () => void
  readonly onRemove: () => void
}

export const CommentView = ({ onEdit, onRemove, placed: { comment, span } }: CommentViewProps) => {
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
