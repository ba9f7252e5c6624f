/** Foot of the changes: sends all pending comments as one message. They stay until it is sent. */
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import { useMutation } from "@tanstack/react-query"
import { useMemo, useState } from "react"
import { useMessages } from "../text/Language.tsx"
import { RefusalNote } from "../ui/RefusalNote.tsx"
import type { PlacedComment } from "./LineComment.ts"
import { commentsMessage, isTooLong } from "./commentsMessage.ts"
import { reviewMessages } from "./messages.ts"
import { reviewStore } from "./ReviewStore.ts"
import "./changes.css"

interface CommentSending {
  readonly send: () => void
  readonly isPending: boolean
  readonly isTooLong: boolean
  readonly error: Error | null
  /** Number of comments of the last message. */
  readonly sent: number
}

/** Sends the pending comments of a run as one message. They stay until it is sent. */
export const useSendComments = (
  runId: HubRun["id"],
  comments: ReadonlyArray<PlacedComment>,
  onComments: ((text: string) => Promise<unknown>) | undefined
): CommentSending => {
  const messages = useMessages(reviewMessages)
  const [sent, setSent] = useState(0)
  const message = useMemo(() => commentsMessage(comments, messages.message), [comments, messages])
  const { error, isPending, mutate } = useMutation({
    mutationFn: async (pending: ReadonlyArray<PlacedComment>) => {
      await onComments?.(message)
      reviewStore.removeComments(runId, new Set(pending.map(({ comment }) => comment.id)))
      setSent(pending.length)
    }
  })
  const isLong = comments.length > 0 && isTooLong(message)
  return {
    send: () => {
      if (comments.length === 0 || isPending || isLong || onComments === undefined) return
      setSent(0)
      mutate(comments)
    },
    isPending,
    isTooLong: isLong,
    error,
    sent
  }
}

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
