/** Text of a plan, part by part. A click on a part opens a field for a comment on it. */
import { type KeyboardEvent, type MouseEvent, useMemo, useState } from "react"
import { Markdown } from "../markdown/Markdown.tsx"
import { visibleText } from "../markdown/visible.ts"
import { useMessages } from "../text/Language.tsx"
import { useComposition } from "../ui/Composition.ts"
import { Icon } from "../ui/Icon.tsx"
import { focusAtOnce } from "../ui/InitialFocus.ts"
import { type PlanComment, type PlanPart, planParts } from "./PlanLines.ts"
import { inputMessages } from "./messages.ts"
import "./input.css"

interface EditorProps {
  readonly line: number
  readonly text: string
  readonly onSave: (text: string) => void
  readonly onCancel: () => void
}

const CommentField = ({ line, onCancel, onSave, text: before }: EditorProps) => {
  const messages = useMessages(inputMessages)
  const [text, setText] = useState(before)
  const [composition, isComposed] = useComposition()
  const isEmpty = text.trim() === ""
  const onKeyDown = (event: KeyboardEvent) => {
    if (isComposed(event)) return
    if (event.key === "Escape") {
      // The first Escape is for the field, not for the turn.
      event.stopPropagation()
      if (isEmpty) onCancel()
    }
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey) || isEmpty) return
    event.preventDefault()
    event.stopPropagation()
    onSave(text)
  }
  return (
    <div className="plan-editor">
      <textarea
        ref={focusAtOnce}
        rows={2}
        aria-label={messages.commentOn(line)}
        value={text}
        onChange={({ target }) => setText(target.value)}
        onKeyDown={onKeyDown}
        {...composition}
      />
      <div className="plan-editor-actions">
        <button type="button" className="button small" onClick={onCancel}>
          {messages.cancel}
        </button>
        <button type="button" className="button small" disabled={isEmpty} onClick={() => onSave(text)}>
          {before === "" ? messages.addComment : messages.saveComment}
        </button>
      </div>
    </div>
  )
}

interface PartProps {
  readonly part: PlanPart
  readonly comment: PlanComment | undefined
  /** Absent where the plan is only read. */
  readonly onComment: ((text: string | undefined) => void) | undefined
}

/** Whether a click is meant for something else: a link, or a text that is selected. */
const isElsewhere = ({ target }: MouseEvent): boolean =>
  (target instanceof Element && target.closest("a, button") !== null) || getSelection()?.isCollapsed === false

const PartView = ({ comment, onComment, part: { depth, line, lines } }: PartProps) => {
  const messages = useMessages(inputMessages)
  const [isEditing, setEditing] = useState(false)
  // Alone, an item of a list is no deeper than the page.
  const text = depth === 0 ? lines.join("\n") : lines.map((each) => each.trimStart()).join("\n")
  const save = (next: string | undefined) => {
    onComment?.(next)
    setEditing(false)
  }
  return (
    <div className={`plan-part plan-depth-${depth}`}>
      {/* The button beside the text is the way by keyboard. */}
      <div
        className={onComment === undefined ? "plan-text" : "plan-text plan-text-open"}
        onClick={(event) => {
          if (onComment !== undefined && !isElsewhere(event)) setEditing(true)
        }}
      >
        <Markdown text={text} />
        {onComment !== undefined && !isEditing && (
          <button
            type="button"
            className="plan-comment-button"
            aria-label={messages.commentOn(line)}
            title={messages.comment}
            onClick={() => setEditing(true)}
          >
            <Icon name="comment" size={14} />
          </button>
        )}
      </div>
      {comment !== undefined && !isEditing && (
        <div className="plan-comment">
          <p className="said">{visibleText(comment.text)}</p>
          <p className="plan-comment-foot">
            <span className="quiet">{messages.notSent}</span>
            <button type="button" className="quiet-button" onClick={() => setEditing(true)}>
              {messages.edit}
            </button>
            <button type="button" className="quiet-button" onClick={() => save(undefined)}>
              {messages.remove}
            </button>
          </p>
        </div>
      )}
      {isEditing && (
        <CommentField
          line={line}
          text={comment?.text ?? ""}
          onSave={save}
          onCancel={() => setEditing(false)}
        />
      )}
    </div>
  )
}

interface Props {
  readonly plan: string
  readonly comments?: ReadonlyArray<PlanComment>
  /** Absent where the plan is only read. */
  readonly onComments?: (comments: ReadonlyArray<PlanComment>) => void
}

export const PlanView = ({ comments = [], onComments, plan }: Props) => {
  const parts = useMemo(() => planParts(visibleText(plan)), [plan])
  return (
    <div className="plan">
      {parts.map((part) => (
        <PartView
          key={part.line}
          part={part}
          comment={comments.find(({ line }) => line === part.line)}
          onComment={
            onComments === undefined
              ? undefined
              : (text) => {
                  const others = comments.filter(({ line }) => line !== part.line)
                  onComments(text === undefined ? others : [...others, { line: part.line, text }])
                }
          }
        />
      ))}
    </div>
  )
}
