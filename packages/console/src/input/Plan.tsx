/**
 * A plan, part by part: a heading, a list item, a paragraph, a table or a block of code is one. A click on a part opens a field for a comment on it. The
 * form of an open plan has the buttons that approve it or send it back.
 *
 * Guarantees: each line with text is in exactly one part, and the parts are in the order of the plan.
 */
import type { HubInput } from "@corral/domain/hub-api/HubRun"
import type { RunMode } from "@corral/domain/run/Run"
import { type KeyboardEvent, type MouseEvent, useMemo, useState } from "react"
import { Markdown } from "../markdown/Markdown.tsx"
import { visibleText } from "../markdown/visible.ts"
import { sentenceSpace, useLanguage, useMessages } from "../text/Language.tsx"
import { useComposition } from "../ui/Composition.ts"
import { focusAtOnce } from "../ui/Dialogs.tsx"
import { Icon } from "../ui/Icon.tsx"
import { uiMessages } from "../ui/messages.ts"
import { useUnsentText } from "../ui/UnsentText.tsx"
import type { AnswerMutation } from "./Answer.tsx"
import { inputMessages } from "./messages.ts"
import "../approval/approval.css"
import "./input.css"

interface PlanPart {
  /** Number of its first line, from 1. */
  readonly line: number
  readonly lines: ReadonlyArray<string>
  /** Depth of a list item, from 0. */
  readonly depth: number
}

/** A comment on a part of a plan. */
interface PlanComment {
  /** First line of the part. */
  readonly line: number
  readonly text: string
}

const FENCE = /^ {0,12}(`{3,}|~{3,})/
const ITEM = /^( {0,20}|\t{0,5})(?:[-*+]|\d{1,9}[.)]) /
const HEADING = /^ {0,3}#{1,6} /
/** Deeper items look the same. */
const DEEPEST = 4
/** Columns of one depth, as most plans indent. */
const INDENT = 2

const depthOf = (line: string): number => {
  const [, space = ""] = ITEM.exec(line) ?? []
  return Math.min(DEEPEST, Math.floor(space.replaceAll("\t", "  ").length / INDENT))
}

const beginsPart = (line: string): boolean => ITEM.test(line) || HEADING.test(line) || FENCE.test(line)

/** Number of lines of the part that begins at `from`. */
const lengthAt = (lines: ReadonlyArray<string>, from: number): number => {
  const first = lines[from] ?? ""
  const [, fence] = FENCE.exec(first) ?? []
  if (fence !== undefined) {
    const end = lines.findIndex((line, at) => at > from && FENCE.exec(line)?.[1]?.startsWith(fence) === true)
    return (end === -1 ? lines.length : end + 1) - from
  }
  if (HEADING.test(first)) return 1
  let to = from + 1
  while (to < lines.length && (lines[to] ?? "").trim() !== "" && !beginsPart(lines[to] ?? "")) to++
  return to - from
}

export const planParts = (plan: string): ReadonlyArray<PlanPart> => {
  const lines = plan.split("\n")
  const parts: Array<PlanPart> = []
  for (let at = 0; at < lines.length;) {
    const first = lines[at] ?? ""
    if (first.trim() === "") {
      at++
      continue
    }
    const length = lengthAt(lines, at)
    parts.push({ line: at + 1, lines: lines.slice(at, at + length), depth: depthOf(first) })
    at += length
  }
  return parts
}

/** Lines of one part that a comment quotes. */
const QUOTED = 3

const quoteOf = (lines: ReadonlyArray<string>): ReadonlyArray<string> => {
  const shown = lines.slice(0, QUOTED).map((line) => `> ${line.trim()}`)
  return lines.length > QUOTED ? [...shown, "> …"] : shown
}

/** All comments as one text: each after the lines that it is about, in the order of the plan, then the closing words. */
export const commentText = (
  parts: ReadonlyArray<PlanPart>,
  comments: ReadonlyArray<PlanComment>,
  closing: string
): string =>
  [
    ...parts.flatMap(({ line, lines }) =>
      comments
        .filter((comment) => comment.line === line)
        .map(({ text }) => [...quoteOf(lines), "", text.trim()].join("\n"))
    ),
    ...(closing.trim() === "" ? [] : [closing.trim()])
  ].join("\n\n")

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

interface PlanViewProps {
  readonly plan: string
  readonly comments?: ReadonlyArray<PlanComment>
  /** Absent where the plan is only read. */
  readonly onComments?: (comments: ReadonlyArray<PlanComment>) => void
}

/** Text of a plan, part by part. Without `onComments` it takes no comments. */
export const PlanView = ({ comments = [], onComments, plan }: PlanViewProps) => {
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

interface PlanFormProps {
  readonly input: HubInput
  readonly answer: AnswerMutation
  /** Modes in which the plan can be carried out. Undefined if the run itself carries it out. */
  readonly modes: ReadonlyArray<RunMode> | undefined
}

const unsentComments = new Map<HubInput["id"], ReadonlyArray<PlanComment>>()

/** Comments that are not sent yet, kept while the page shows something else. */
const useComments = (id: HubInput["id"]) => {
  const [comments, setComments] = useState(() => unsentComments.get(id) ?? [])
  const change = (next: ReadonlyArray<PlanComment>) => {
    unsentComments.set(id, next)
    setComments(next)
  }
  return [comments, change] as const
}

/** A plan with comments on its lines, and the buttons that approve it or send it back. */
export const PlanForm = ({ answer, input, modes }: PlanFormProps) => {
  const messages = useMessages(inputMessages)
  const { language } = useLanguage()
  const { modes: names } = useMessages(uiMessages)
  const [comments, setComments] = useComments(input.id)
  const [overall, setOverall] = useState("")
  const [mode, setMode] = useState<RunMode | undefined>(modes?.[0])
  const plan = visibleText(input.plan ?? "")
  const isBusy = answer.isPending || answer.isSuccess
  useUnsentText(overall, isBusy)
  const text = commentText(planParts(plan), comments, overall)
  const comment = text === "" ? {} : { comment: text }
  return (
    <div className="input-form">
      <div className="dock-request dock-plan">
        <PlanView plan={plan} comments={comments} onComments={setComments} />
      </div>
      <textarea
        className="plan-overall"
        rows={1}
        aria-label={messages.overall}
        placeholder={messages.overall}
        value={overall}
        onChange={({ target }) => setOverall(target.value)}
      />
      <div className="decision-buttons input-buttons">
        <button
          type="button"
          className="button primary"
          disabled={isBusy}
          onClick={() =>
            answer.mutate({ approve: true, ...(mode === undefined ? {} : { mode }), ...comment })
          }
        >
          {messages.approve}
        </button>
        <button
          type="button"
          className="button"
          disabled={isBusy}
          onClick={() => answer.mutate({ approve: false, ...comment })}
        >
          {comments.length === 0 ? messages.sendBack : messages.sendBackWith(comments.length)}
        </button>
        {modes !== undefined && modes.length > 0 && (
          <label className="plan-mode">
            {messages.thenMode}
            <select
              value={mode}
              onChange={({ target }) => setMode(modes.find((each) => each === target.value))}
            >
              {modes.map((each) => (
                <option key={each} value={each}>
                  {names[each]}
                </option>
              ))}
            </select>
          </label>
        )}
      </div>
      <p className="question-note">
        {[messages.planHint, ...(modes === undefined ? [] : [messages.endsRun])].join(
          sentenceSpace[language]
        )}
      </p>
    </div>
  )
}
