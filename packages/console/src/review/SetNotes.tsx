/** What a person must know of a change set besides its files: why nothing can be decided, what stays with the agent, and the decisions. */
import type { ChangeDecision, ChangeSet } from "@corral/domain/edge-api/ChangeSet"
import type { ProjectId } from "@corral/domain/identity/Ids"
import { useState } from "react"
import { approvalMessages } from "../approval/messages.ts"
import { UserName } from "../approval/ApprovalOutcome.tsx"
import { visibleLine } from "../markdown/visible.ts"
import { useMessages, usePunctuation } from "../text/Language.tsx"
import { Icon } from "../ui/Icon.tsx"
import { Time } from "../ui/Time.tsx"
import { decideMessages } from "./decideMessages.ts"
import "../diff/diff.css"
import "./decide.css"

/** Files and comments that a decision shows. */
const NAMED = 3
const SHOWN_COMMENTS = 10

interface DecisionRowProps {
  readonly decision: ChangeDecision
  readonly projectId: ProjectId
  /** Absent if the user can't undo it now. */
  readonly onUndo: ((decision: ChangeDecision) => void) | undefined
}

const DecisionRow = ({ decision, onUndo, projectId }: DecisionRowProps) => {
  const messages = useMessages(decideMessages)
  const { origins } = useMessages(approvalMessages)
  const { colon, comma } = usePunctuation()
  const { additions, at, by, comment, deletions, edited = 0, fileCount, files, kind, origin } = decision
  const { rejected = [], reversedBy } = decision
  const texts = rejected.flatMap(({ hunkId, path, text }) =>
    text === undefined || text === "" ? [] : [{ key: `${hunkId ?? path} ${text}`, path, text }]
  )
  const what = messages.decided[kind](fileCount)
  const mayUndo = onUndo !== undefined && kind !== "undo" && reversedBy === undefined
  return (
    <li className={reversedBy === undefined ? "decision" : "decision decision-undone"}>
      <span className={`decision-mark decision-${kind}`} aria-hidden="true">
        {{ accept: "✓", reject: "✕", undo: "↶" }[kind]}
      </span>
      <span className="decision-main">
        <strong>{what}</strong> <ins className="diff-plus">+{additions}</ins>{" "}
        <del className="diff-minus">−{deletions}</del>
        {edited > 0 && <span className="quiet"> · {messages.editedBy(edited)}</span>}
        {reversedBy !== undefined && <span className="quiet"> · {messages.undone}</span>}
        <span className="decision-files">
          {files.slice(0, NAMED).map(({ id, path }, nth) => (
            <span key={id}>
              {nth > 0 && comma}
              <code>{visibleLine(path, 400)}</code>
            </span>
          ))}
          {fileCount > NAMED && ` ${messages.moreFiles(fileCount - NAMED)}`}
        </span>
        {comment !== undefined && (
          <span className="decision-comment">
            {messages.comment}
            {colon}
            {visibleLine(comment, 1_000)}
          </span>
        )}
        {texts.slice(0, SHOWN_COMMENTS).map(({ key, path, text }) => (
          <span key={key} className="decision-comment">
            <code>{visibleLine(path, 400)}</code> {visibleLine(text, 1_000)}
          </span>
        ))}
        {texts.length > SHOWN_COMMENTS && (
          <span className="decision-comment">{messages.moreComments(texts.length - SHOWN_COMMENTS)}</span>
        )}
        <span className="quiet decision-who">
          {by !== undefined && (
            <>
              {messages.by} <UserName by={by} projectId={projectId} />{" "}
            </>
          )}
          {origin !== undefined && origin !== "policy" && <>{origins[origin]} · </>}
          <Time at={at} />
        </span>
      </span>
      {mayUndo && (
        <button
          type="button"
          className="button small"
          data-decides
          aria-label={messages.undoDecision(what)}
          onClick={() => onUndo(decision)}
        >
          <Icon name="undo" size={14} />
          {messages.undo}
        </button>
      )}
    </li>
  )
}

interface DecisionsProps {
  readonly set: ChangeSet
  readonly projectId: ProjectId
  /** Whether they are shown at first. */
  readonly isOpen: boolean
  readonly onUndo: ((decision: ChangeDecision) => void) | undefined
}

/** Decisions of the set, newest first. */
export const Decisions = ({ isOpen, onUndo, projectId, set: { decisions } }: DecisionsProps) => {
  const messages = useMessages(decideMessages)
  const [toggled, setToggled] = useState<boolean>()
  if (decisions.length === 0) return null
  const isShown = toggled ?? isOpen
  return (
    <div className="decisions">
      <button
        type="button"
        className="quiet-button decisions-fold"
        aria-expanded={isShown}
        onClick={() => setToggled(!isShown)}
      >
        <Icon name={isShown ? "fold" : "unfold"} size={14} />
        {messages.decisions(decisions.length)}
      </button>
      {isShown && (
        <ul className="decision-rows">
          {decisions.map((decision) => (
            <DecisionRow key={decision.id} {...{ decision, onUndo, projectId }} />
          ))}
        </ul>
      )}
    </div>
  )
}

/** Ignored files and commits of the agent: folded, because they need no decision. */
export const SetDetails = ({ set: { commits, ignored } }: { readonly set: ChangeSet }) => {
  const messages = useMessages(decideMessages)
  const count = ignored.reduce((sum, each) => sum + each.count, 0)
  if (count === 0 && commits.length === 0) return null
  return (
    <div className="set-details">
      {commits.length > 0 && (
        <details>
          <summary>{messages.commits(commits.length)}</summary>
          <p className="quiet">{messages.commitsText}</p>
          <ul>
            {commits.map(({ id, subject }) => (
              <li key={id}>
                <code>{id.slice(0, 8)}</code> {visibleLine(subject, 200)}
              </li>
            ))}
          </ul>
        </details>
      )}
      {count > 0 && (
        <details>
          <summary>{messages.ignored(count)}</summary>
          <p className="quiet">{messages.ignoredText}</p>
          <ul>
            {ignored.map(({ count: ofFolder, folder }) => (
              <li key={folder}>
                <code>{visibleLine(folder, 400)}</code> {ofFolder.toLocaleString("en")}
              </li>
            ))}
          </ul>
        </details>
      )}
    </div>
  )
}

/** Paths that could not be compared. With them, not everything can be accepted at once. */
export const IncompleteNote = ({ paths }: { readonly paths: ReadonlyArray<string> }) => {
  const messages = useMessages(decideMessages)
  const { comma } = usePunctuation()
  return (
    <p className="set-note set-warning">
      <Icon name="warning" size={14} />
      <span>
        {messages.waits.incomplete(paths.length)}{" "}
        {paths.slice(0, 5).map((path, at) => (
          <span key={path}>
            {at > 0 && comma}
            <code>{visibleLine(path, 400)}</code>
          </span>
        ))}
        {paths.length > 5 && ` ${messages.moreFiles(paths.length - 5)}`}
      </span>
    </p>
  )
}
