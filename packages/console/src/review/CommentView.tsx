/**
 * A pending comment below its lines, and the field in which it is written. Its text is in the review only when it is added, so that a key
 * renders nothing else.
 */
import { type KeyboardEvent, useCallback, useId, useRef, useState } from "react"
import { DiffRow } from "../diff/DiffRow.tsx"
import { rowsOf } from "../diff/rows.ts"
import { visibleLine, visibleText } from "../markdown/visible.ts"
import { useMessages } from "../text/Language.tsx"
import { Icon } from "../ui/Icon.tsx"
import { focusAtOnce } from "../ui/Dialogs.tsx"
import type { LineComment, PlacedComment } from "./LineComment.ts"
import { NEW_COMMENT } from "./ReviewItem.ts"
import { MAX_COMMENT_CHARACTERS } from "./ReviewStore.ts"
import { describeSpan } from "./commentsMessage.ts"
import { reviewMessages } from "./messages.ts"
import "../diff/diff.css"
import "./changes.css"
import "./decide.css"

interface CommentEditorProps {
  readonly draft: LineComment
  /** Lines of the hunk that a suggestion replaces. Absent if they can't be edited. */
  readonly original?: ReadonlyArray<string> | undefined
  /** Adds the comment. `isLast`: sends all comments after it. */
  readonly onAdd: (text: string, isLast: boolean, suggestion: LineComment["suggestion"]) => void
  readonly onCancel: () => void
  /** The text while it is being written. */
  readonly onText: (text: string) => void
}

const isSameText = (a: ReadonlyArray<string>, b: ReadonlyArray<string> | undefined): boolean =>
  b !== undefined && a.length === b.length && a.every((line, at) => line === b[at])

/** A field has one kind of line ends: lines that end with a carriage return get it back. */
const hasReturns = (lines: ReadonlyArray<string>): boolean =>
  lines.length > 0 && lines.every((line) => line.endsWith("\r"))

interface SuggestionFieldProps {
  readonly lines: ReadonlyArray<string>
  readonly onLines: (lines: ReadonlyArray<string>) => void
  readonly onKeyDown: (event: KeyboardEvent) => void
}

/** The lines of a hunk as the person would write them. An empty field removes the lines. */
const SuggestionField = ({ lines, onKeyDown, onLines }: SuggestionFieldProps) => {
  const messages = useMessages(reviewMessages)
  const id = useId()
  const [returns] = useState(() => hasReturns(lines))
  const [text, setText] = useState(() => lines.map((line) => (returns ? line.slice(0, -1) : line)).join("\n"))
  return (
    <>
      <label htmlFor={id}>{messages.suggestionLabel}</label>
      <textarea
        id={id}
        className="suggestion-field"
        rows={Math.min(16, Math.max(3, lines.length + 1))}
        spellCheck={false}
        autoCapitalize="off"
        value={text}
        onChange={({ target: { value } }) => {
          setText(value)
          onLines(value === "" ? [] : value.split("\n").map((line) => (returns ? `${line}\r` : line)))
        }}
        onKeyDown={onKeyDown}
      />
    </>
  )
}

/** Field for a comment on lines. Its text is in the review only when it is added, so that a key renders nothing else. */
export const CommentEditor = ({ draft, onAdd, onCancel, onText, original }: CommentEditorProps) => {
  const messages = useMessages(reviewMessages)
  const [text, setText] = useState(draft.text)
  const [lines, setLines] = useState(draft.suggestion)
  const field = useRef<HTMLTextAreaElement>(null)
  // The same function while the field is there: another one would take the focus from the suggestion with each key.
  const attach = useCallback((element: HTMLTextAreaElement | null) => {
    field.current = element
    focusAtOnce(element)
  }, [])
  const id = useId()
  const suggestion = lines === undefined || isSameText(lines, original) ? undefined : lines
  const isEmpty = text.trim() === "" && suggestion === undefined
  const onKeyDown = (event: KeyboardEvent) => {
    // Single letters are text here.
    event.stopPropagation()
    if (event.nativeEvent.isComposing || event.nativeEvent.keyCode === 229) return
    if (event.key === "Escape" && isEmpty) onCancel()
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return
    event.preventDefault()
    if (!isEmpty) onAdd(text, event.shiftKey, suggestion)
  }
  return (
    <form
      className="comment-editor"
      onSubmit={(event) => {
        event.preventDefault()
        if (isEmpty) field.current?.focus()
        else onAdd(text, false, suggestion)
      }}
    >
      <label htmlFor={id}>{messages.commentOn(describeSpan(draft, messages.message))}</label>
      <textarea
        ref={attach}
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
      {lines !== undefined && <SuggestionField lines={lines} onLines={setLines} onKeyDown={onKeyDown} />}
      <div className="comment-actions">
        <span className="quiet">{lines === undefined ? messages.commentHint : messages.suggestionHint}</span>
        {original !== undefined && (
          <button
            type="button"
            className="button small"
            aria-pressed={lines !== undefined}
            onClick={() => setLines(lines === undefined ? original : undefined)}
          >
            <Icon name="edit" size={14} />
            {lines === undefined ? messages.suggest : messages.noSuggestion}
          </button>
        )}
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

/** What the suggestion replaces, and its lines. */
const Suggestion = ({
  lines,
  original
}: {
  lines: ReadonlyArray<string>
  original: ReadonlyArray<string>
}) => {
  const messages = useMessages(reviewMessages)
  let start = 0
  while (start < original.length && start < lines.length && original[start] === lines[start]) start++
  let end = 0
  const most = Math.min(original.length, lines.length) - start
  while (end < most && original.at(-1 - end) === lines.at(-1 - end)) end++
  const rows = rowsOf(
    [
      {
        oldStart: 1,
        oldLines: original.length,
        newStart: 1,
        newLines: lines.length,
        lines: [
          ...original.slice(0, start).map((line) => ` ${line}`),
          ...original.slice(start, original.length - end).map((line) => `-${line}`),
          ...lines.slice(start, lines.length - end).map((line) => `+${line}`),
          ...original.slice(original.length - end).map((line) => ` ${line}`)
        ]
      }
    ],
    "unified"
  )
  return (
    <div className="suggestion" role="group" aria-label={messages.suggested} tabIndex={0}>
      {rows.map((row, at) =>
        row.kind === "hunk" ? null : <DiffRow key={at} row={row} language={undefined} />
      )}
    </div>
  )
}

interface CommentViewProps {
  readonly placed: PlacedComment
  /** Lines of the hunk that its suggestion replaces. */
  readonly original?: ReadonlyArray<string> | undefined
  /** Accepts the hunk as suggested. Absent if the user can't decide now. */
  readonly onApply?: (() => void) | undefined
  readonly onEdit: () => void
  readonly onRemove: () => void
}

export const CommentView = ({ onApply, onEdit, onRemove, original = [], placed }: CommentViewProps) => {
  const messages = useMessages(reviewMessages)
  const { comment, span } = placed
  const { path, quote, suggestion, text } = comment
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
      {text.trim() !== "" && (
        <p className="said">
          <CodeSpans text={visibleText(text)} />
        </p>
      )}
      {suggestion !== undefined && <Suggestion lines={suggestion} original={original} />}
      {suggestion !== undefined && onApply !== undefined && (
        <div className="comment-actions">
          <span className="quiet">{messages.suggestionHint}</span>
          <button
            type="button"
            className="button small decide-accept"
            data-decides
            aria-label={messages.applyLabel}
            onClick={onApply}
          >
            {messages.apply}
          </button>
        </div>
      )}
    </article>
  )
}
