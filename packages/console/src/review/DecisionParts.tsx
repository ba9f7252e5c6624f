/** Parts of a change set in the list of changes: buttons that decide about a file or a hunk, what is apart, and lines that load. */
import type { ChangedFile } from "@corral/domain/edge-api/ChangeSet"
import { useEffect } from "react"
import type { DiffEntry } from "../diff/rows.ts"
import { diffMessages } from "../diff/messages.ts"
import { visibleLine } from "../markdown/visible.ts"
import { useMessages } from "../text/Language.tsx"
import { Icon } from "../ui/Icon.tsx"
import type { PlacedComment } from "./LineComment.ts"
import { decideMessages } from "./decideMessages.ts"
import { type DecidedPart, commentsOn, hasHunkDecisions } from "./setFiles.ts"
import type { ReviewFile } from "./useChanges.ts"
import "./changes.css"
import "./decide.css"

/** What the list needs to decide about its parts. */
export interface PartDecisions {
  /** Whether the user can decide now. */
  readonly isOpen: boolean
  /** Whether the user can ever decide: without it there are no buttons. */
  readonly isAllowed: boolean
  readonly pendingOf: (part: DecidedPart) => "accept" | "reject" | undefined
  readonly onAccept: (part: DecidedPart) => void
  readonly onReject: (part: DecidedPart) => void
  /** Asks why, and rejects. */
  readonly onSayWhy: (part: DecidedPart) => void
  readonly onSides: (file: ReviewFile) => void
  /** Accepts a hunk as its comment suggests. */
  readonly onApply: (placed: PlacedComment) => void
  readonly want: (id: ChangedFile["id"]) => void
  readonly failed: ReadonlyMap<ChangedFile["id"], () => void>
  readonly canWiden: (id: ChangedFile["id"]) => boolean
  readonly widen: (id: ChangedFile["id"]) => void
  /** Shows the lines of hunks that differ only in white space. */
  readonly showBlank: () => void
  readonly comments: ReadonlyArray<PlacedComment>
}

interface ButtonsProps {
  readonly part: DecidedPart
  /** Names the part for screen readers. */
  readonly name: string
  readonly decisions: PartDecisions
}

/** Accept and Reject of a file or a hunk. Comments on it go along with a rejection. */
export const DecideButtons = ({ decisions, name, part }: ButtonsProps) => {
  const messages = useMessages(decideMessages)
  const { comments, isAllowed, isOpen, onAccept, onReject, onSayWhy, pendingOf } = decisions
  if (!isAllowed) return null
  const pending = pendingOf(part)
  // The buttons stay where they are: a second click of a double click must press nothing else.
  const isOff = !isOpen || pending !== undefined
  const count = commentsOn(part, comments).length
  return (
    <span className="decide-buttons">
      <button
        type="button"
        className="button small decide-accept"
        data-decides
        data-key="a"
        aria-label={messages.acceptPart(name)}
        disabled={isOff}
        onClick={() => onAccept(part)}
      >
        {pending === "accept" ? messages.accepting : messages.accept}
      </button>
      <button
        type="button"
        className="button small"
        data-decides
        data-key="d"
        aria-label={count === 0 ? messages.rejectPart(name) : messages.rejectPartWith(count, name)}
        disabled={isOff}
        onClick={() => onReject(part)}
      >
        {pending === "reject"
          ? messages.rejecting
          : count === 0
            ? messages.reject
            : messages.rejectWith(count)}
      </button>
      <button
        type="button"
        className="icon-button decide-why"
        data-decides
        aria-label={messages.sayWhy(name)}
        title={messages.sayWhy(name)}
        disabled={isOff}
        onClick={() => onSayWhy(part)}
      >
        <Icon name="comment" size={14} />
      </button>
    </span>
  )
}

interface HunkHeadProps {
  readonly file: ReviewFile
  readonly row: Extract<DiffEntry, { readonly kind: "hunk" }>
  readonly decisions: PartDecisions
}

/** Head of a hunk: its lines, a button for more of them, and its decision if the file has several. */
export const HunkHead = ({ decisions, file, row }: HunkHeadProps) => {
  const messages = useMessages(decideMessages)
  const { hunk } = useMessages(diffMessages)
  const { parts } = file
  const hunkId = parts?.hunkIds[row.at]
  if (parts === undefined || hunkId === undefined) return null
  const { changed, folded } = parts
  const lines = hunk(row.from, row.to)
  const name = messages.hunk(lines, visibleLine(file.diff.path, 400))
  const part = { file, hunkId }
  const isPending = decisions.pendingOf(part) !== undefined
  return (
    <div
      className={isPending ? "hunk-head hunk-deciding" : "hunk-head"}
      role="group"
      aria-label={name}
      tabIndex={-1}
      data-focus
    >
      <span className="hunk-lines">
        {lines}
        {folded.has(hunkId) && (
          <>
            {" "}
            <button type="button" className="quiet-button" onClick={decisions.showBlank}>
              {messages.blank}
            </button>
          </>
        )}
      </span>
      {changed.status === "modified" && changed.whole === undefined && decisions.canWiden(changed.id) && (
        <button
          type="button"
          className="icon-button hunk-widen"
          aria-label={messages.widen}
          title={messages.widen}
          onClick={() => decisions.widen(changed.id)}
        >
          <Icon name="widen" size={14} />
        </button>
      )}
      {hasHunkDecisions(parts) && <DecideButtons part={part} name={name} decisions={decisions} />}
    </div>
  )
}

/** Why a file needs its own decision, and whether the person edited it too. */
export const FileBadges = ({ decisions, file }: Pick<HunkHeadProps, "decisions" | "file">) => {
  const messages = useMessages(decideMessages)
  const { apart = [], conflict } = file.parts?.changed ?? {}
  if (apart.length === 0 && conflict !== true) return null
  return (
    <div className="file-badges">
      {apart.map((reason) => (
        <span key={reason} className="file-apart">
          <Icon name="warning" size={14} />
          {messages.apart[reason]}
        </span>
      ))}
      {conflict === true && (
        <span className="file-apart">
          <Icon name="warning" size={14} />
          {messages.conflict}
          {file.parts?.sides !== undefined && (
            <button type="button" className="quiet-button" onClick={() => decisions.onSides(file)}>
              {messages.showConflict}
            </button>
          )}
        </span>
      )}
    </div>
  )
}

/** Heading of the files that are not part of `all`. */
export const ApartHead = () => {
  const messages = useMessages(decideMessages)
  return (
    <div className="apart-head">
      <h3>{messages.apartTitle}</h3>
      <p>{messages.apartText}</p>
    </div>
  )
}

/** Note where lines are not loaded: loads them as soon as it is rendered. */
export const LoadingLines = ({ decisions, file }: Pick<HunkHeadProps, "decisions" | "file">) => {
  const messages = useMessages(decideMessages)
  const id = file.parts?.changed.id
  const { failed, want } = decisions
  useEffect(() => {
    if (id !== undefined) want(id)
  }, [id, want])
  const again = id === undefined ? undefined : failed.get(id)
  return (
    <p className="changes-note" role={again === undefined ? undefined : "alert"}>
      {again === undefined ? messages.loading : messages.loadFailed}
      {again !== undefined && (
        <button type="button" className="button small" onClick={again}>
          {messages.tryAgain}
        </button>
      )}
    </p>
  )
}
