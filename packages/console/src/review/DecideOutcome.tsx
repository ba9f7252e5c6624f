/** What the last decision led to: what was decided, with its undo; or why nothing was, and what to do about it. */
import { CorralError } from "@corral/client/http/CorralError"
import type { ChangeDecision } from "@corral/domain/edge-api/ChangeSet"
import { useMessages } from "../text/Language.tsx"
import { Icon } from "../ui/Icon.tsx"
import { RefusalNote } from "../ui/RefusalNote.tsx"
import { decideMessages } from "./decideMessages.ts"
import { type DecideOutcome, sidesOf } from "./useDecide.ts"
import "../diff/diff.css"
import "./decide.css"

interface Props {
  readonly outcome: DecideOutcome | undefined
  /** Whether the project wants another user than the one who asked. */
  readonly isOthersOnly: boolean
  readonly onUndo: (decision: ChangeDecision) => void
  readonly onDismiss: () => void
}

export const OutcomeNote = ({ isOthersOnly, onDismiss, onUndo, outcome }: Props) => {
  const messages = useMessages(decideMessages)
  if (outcome === undefined || (outcome.kind === "refused" && sidesOf(outcome.error).length > 0)) return null
  const dismiss = (
    <button type="button" className="icon-button" aria-label={messages.dismiss} onClick={onDismiss}>
      <Icon name="close" size={14} />
    </button>
  )
  if (outcome.kind === "decided") {
    const { decision } = outcome
    return (
      <div className="set-note set-good" role="status">
        <span>
          {messages.decided[decision.kind](decision.fileCount)}{" "}
          <ins className="diff-plus">+{decision.additions}</ins>{" "}
          <del className="diff-minus">−{decision.deletions}</del>
          {decision.edited !== undefined && (
            <span className="quiet"> · {messages.editedBy(decision.edited)}</span>
          )}
          {decision.kind === "reject" && <span className="quiet"> {messages.told}</span>}
        </span>
        <button type="button" className="button small" data-decides onClick={() => onUndo(decision)}>
          <Icon name="undo" size={14} />
          {messages.undo}
        </button>
        {dismiss}
      </div>
    )
  }
  const { error } = outcome
  const code = error instanceof CorralError ? error.code : undefined
  const isOwn = code === "permission_denied" && isOthersOnly
  const sentence =
    code === "changes_outdated"
      ? messages.outdated
      : code === "run_active"
        ? messages.waits.live
        : isOwn
          ? messages.ownRequest
          : undefined
  return sentence === undefined ? (
    <RefusalNote error={error} />
  ) : (
    <div className="set-note set-warning" role="alert">
      <Icon name="warning" size={14} />
      <span>{sentence}</span>
      {dismiss}
    </div>
  )
}
