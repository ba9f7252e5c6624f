/** Foot of the changes: sends all pending comments as one message. */
import { useMessages } from "../text/Language.tsx"
import { RefusalNote } from "../ui/RefusalNote.tsx"
import type { CommentSending } from "./useSendComments.ts"
import { reviewMessages } from "./messages.ts"
import "./changes.css"

export const SendComments = ({
  count,
  sending
}: {
  readonly count: number
  readonly sending: CommentSending
}) => {
  const messages = useMessages(reviewMessages)
  return (
    <div className="changes-foot">
      <p role="status" className="quiet">
        {count > 0
          ? messages.commentCount(count)
          : sending.sent > 0
            ? messages.sentComments(sending.sent)
            : ""}
      </p>
      {count > 0 && (
        <button
          type="button"
          className="button primary"
          aria-keyshortcuts="Control+Shift+Enter Meta+Shift+Enter"
          disabled={sending.isPending || sending.isTooLong}
          onClick={sending.send}
        >
          <span>{messages.sendComments(count)}</span>
          <kbd className="key" aria-hidden="true">
            {messages.sendKeys}
          </kbd>
        </button>
      )}
      {sending.isTooLong && <p className="changes-refusal">{messages.tooLong}</p>}
      <RefusalNote error={sending.error} />
    </div>
  )
}
